#include "comments/comments.h"

int main(int argc, char **argv) { return service_main(argc, argv, &COMMENTS_SERVICE); }
