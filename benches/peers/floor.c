// Lower bound of the cost of every load generator on this machine: the kernel's time per request, without recording or judging.
//   floor HOST_PORT closed CONNECTIONS SECONDS     each connection sends the next request after each response
//   floor HOST_PORT paced RATE SECONDS             one request every 1/RATE s over free connections, sleeping in between
//   floor HOST_PORT spinning RATE SECONDS          the same, never sleeping
// Linux; IPv4 loopback. One read is taken as one response, which holds only for tiny responses.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char REQUEST[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: floor\r\nAccept: */*\r\n\r\n";
static int waiting;
static char answer[65536];

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int dial(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) exit((perror("connect"), 1));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    struct epoll_event watch = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    epoll_ctl(waiting, EPOLL_CTL_ADD, fd, &watch);
    return fd;
}

static void ask(int fd) {
    if (send(fd, REQUEST, sizeof REQUEST - 1, 0) != sizeof REQUEST - 1) exit((perror("send"), 1));
}

int main(int words, char **word) {
    if (words != 5) return fprintf(stderr, "floor PORT closed CONNECTIONS SECONDS | floor PORT paced|spinning RATE SECONDS\n"), 2;
    int port = atoi(word[1]), paced = strcmp(word[2], "closed"), awake = !strcmp(word[2], "spinning"), count = atoi(word[3]), spare = 0;
    static int idle[65536];
    struct epoll_event ready[256];
    prctl(PR_SET_TIMERSLACK, 1);
    waiting = epoll_create1(0);
    long long end = now() + atoi(word[4]) * 1000000000LL, due = now(), gap = paced ? 1000000000LL / count : 0, done = 0;
    // In paced mode the connections are opened before the start.
    for (int i = 0; i < (paced ? 50 : count); i++)
        if (paced) idle[spare++] = dial(port);
        else ask(dial(port));
    due = now();
    while (now() < end) {
        for (int row = 0; paced && due <= now() && row < 16; row++) {
            ask(spare ? idle[--spare] : dial(port));
            due += gap;
        }
        long long left = paced ? due - now() : 100000000;
        struct timespec timeout = {0, left > 0 && !awake ? left : 0};
        int n = epoll_pwait2(waiting, ready, 256, &timeout, NULL);
        for (int i = 0; i < n; i++) {
            if (recv(ready[i].data.fd, answer, sizeof answer, 0) <= 0) continue;
            done++;
            if (paced) idle[spare++] = ready[i].data.fd;
            else ask(ready[i].data.fd);
        }
    }
    printf("%lld completed\n", done);
}
