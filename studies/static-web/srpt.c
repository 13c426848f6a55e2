// SRPT for a web server that does not know of it: preloaded, this gives the socket the priority of what is left of its answer
// before every sendfile, and the link (htb, a class for each priority) sends the shortest rests first. Nothing of the server is changed.
//   cc -O2 -shared -fPIC -o srpt.so srpt.c -ldl && LD_PRELOAD=./srpt.so nginx ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>

// An answer with at most so many bytes left is of the first, second, ... class; the last class takes all others.
static const size_t LIMITS[] = {1600, 2500, 4000, 8000, 20000, 60000, 200000};
enum { CLASSES = sizeof LIMITS / sizeof *LIMITS };
// SO_PRIORITY is the class of htb itself: 1:10 to 1:17.
enum { FIRST_CLASS = 0x10010 };
// The class that each socket has, so that it is told only of a new one: 0, not known.
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

// A number that is given back may become another connection.
int close(int number) {
  static int (*real)(int);
  if (!real) real = next("close");
  if (number >= 0 && number < SOCKETS) known[number] = 0;
  return real(number);
}
