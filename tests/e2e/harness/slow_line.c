/* A line that is slow and loses packets, as the kernel's netem makes one, which not every kernel has: what is routed into its TUN device
 * comes back out of it later, or never.
 *
 *     slow_line DEVICE DELAY_MS JITTER_MS LOSS      # says "ready" when the device is there, which goes when this ends
 */
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_MAX = 65536, AT_ONCE = 64 /* packets that are taken before others are given back */ };

/* One that is under way. */
struct packet {
    struct packet *next;
    double due; /* seconds, monotonic */
    ssize_t size;
    char bytes[];
};

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double chance(void) { return (double)random() / RAND_MAX; }

/* In the order in which they are due. Nearly all of those before it are due before it; so it is searched from the newest. */
static void put(struct packet **newest, struct packet *packet) {
    while (*newest && (*newest)->due > packet->due) newest = &(*newest)->next;
    packet->next = *newest;
    *newest = packet;
}

static int open_device(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (device < 0 || ioctl(device, TUNSETIFF, &request)) return -1;
    return device;
}

/* Gives back what is due. Returns how long the next one has, in ms; -1: there is none. */
static int give_back(int device, struct packet **newest) {
    double at = now();
    struct packet **oldest = newest;
    while (*newest) {
        for (oldest = newest; (*oldest)->next;) oldest = &(*oldest)->next;
        struct packet *packet = *oldest;
        if (packet->due > at) return (int)((packet->due - at) * 1000) + 1;
        *oldest = NULL;
        ssize_t written = write(device, packet->bytes, (size_t)packet->size);
        (void)written; /* a full device loses packets, as lines do */
        free(packet);
    }
    return -1;
}

int main(int argc, char **argv) {
    static char bytes[PACKET_MAX];
    struct packet *newest = NULL;
    int device = argc == 5 ? open_device(argv[1]) : -1;
    if (device < 0) return 1;
    double delay = atof(argv[2]) / 1000, jitter = atof(argv[3]) / 1000, loss = atof(argv[4]);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int left_ms = give_back(device, &newest);
        poll(&(struct pollfd){.fd = device, .events = POLLIN}, 1, left_ms);
        for (int i = 0; i < AT_ONCE; i++) {
            ssize_t size = read(device, bytes, sizeof bytes);
            if (size <= 0) break;
            if (chance() < loss) continue;
            struct packet *packet = malloc(sizeof *packet + (size_t)size);
            if (!packet) return 1;
            *packet = (struct packet){.due = now() + delay + (2 * chance() - 1) * jitter, .size = size};
            memcpy(packet->bytes, bytes, (size_t)size);
            put(&newest, packet);
        }
    }
}
