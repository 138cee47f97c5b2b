#include "feed/feed.h"

int main(int argc, char **argv) { return service_main(argc, argv, &FEED_SERVICE); }
