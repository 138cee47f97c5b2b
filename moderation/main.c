#include "moderation/moderation.h"

int main(int argc, char **argv) { return service_main(argc, argv, &MODERATION_SERVICE); }
