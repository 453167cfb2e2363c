// What hiredis makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

static void show(redisReply *reply) {
    const char *separator = "[";
    for (size_t i = 0; i < reply->elements; i++) {
        redisReply *element = reply->element[i];
        printf("%s%lld", separator, element->integer);
        separator = ", ";
    }
    puts("]");
    freeReplyObject(reply);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    redisContext *context = redisConnect("127.0.0.1", atoi(arguments[1]));
    if (context == NULL || context->err) return 1;
    printf("C: hiredis %d.%d.%d\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    show(redisCommand(context, "CF.INSERT insert ITEMS kept new"));
    show(redisCommand(context, "CF.INSERTNX insertnx ITEMS kept kept new"));
    redisFree(context);
}
