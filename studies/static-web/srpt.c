// SRPT for an unmodified web server: this preloaded library sets the socket's priority by the remaining bytes of the response before
// every sendfile. The link (htb, one class per priority) sends the responses with the fewest remaining bytes first.
//   cc -O2 -shared -fPIC -o srpt.so srpt.c -ldl && LD_PRELOAD=./srpt.so nginx ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>

// Maximum remaining bytes of the first, second, ... class; the last class takes all other responses.
static const size_t LIMITS[] = {1600, 2500, 4000, 8000, 20000, 60000, 200000};
enum { CLASSES = sizeof LIMITS / sizeof *LIMITS };
// SO_PRIORITY selects the htb class directly: 1:10 to 1:17.
enum { FIRST_CLASS = 0x10010 };
// Class + 1 of each socket, to call setsockopt only on changes; 0: unknown.
enum { SOCKETS = 65536 };
static unsigned char known[SOCKETS];

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static void prefer(int socket, size_t left) {
  int class = 0;
  while (class < CLASSES && left > LIMITS[class]) class++;
  if (socket < 0 || (socket < SOCKETS && known[socket] == class + 1)) return;
  int priority = FIRST_CLASS + class;
  if (setsockopt(socket, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority) == 0 && socket < SOCKETS)
    known[socket] = (unsigned char)(class + 1);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t left) {
  static ssize_t (*real)(int, int, off_t *, size_t);
  if (!real) real = next("sendfile");
  prefer(to, left);
  return real(to, from, offset, left);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t left) {
  static ssize_t (*real)(int, int, off64_t *, size_t);
  if (!real) real = next("sendfile64");
  prefer(to, left);
  return real(to, from, offset, left);
}

// A closed descriptor may be reused by another connection.
int close(int number) {
  static int (*real)(int);
  if (!real) real = next("close");
  if (number >= 0 && number < SOCKETS) known[number] = 0;
  return real(number);
}
