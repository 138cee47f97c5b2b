# Kafka: fetched by Maven, one KRaft node under run/.
# shellcheck shell=bash

kafka_version() { sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' "$ROOT/tools/kafka/pom.xml"; }

KAFKA_LIB=$CACHE/kafka-$(kafka_version)

fetch_kafka() {
    need_packages java
    [ -d "$KAFKA_LIB" ] && return 0
    need_packages maven ca-certificates
    say "Fetching Apache Kafka $(kafka_version)"
    rm -rf "$KAFKA_LIB.part"
    quietly "Fetching Kafka by Maven" mvn -q -B -f "$ROOT/tools/kafka/pom.xml" dependency:copy-dependencies \
        "-DoutputDirectory=$KAFKA_LIB.part"
    mv "$KAFKA_LIB.part" "$KAFKA_LIB"
}

kafka_address() { property "$RUN/kafka/server.properties" advertised.listeners | sed 's:.*//::'; }

start_kafka() {
    fetch_kafka
    local home=$RUN/kafka
    if running kafka; then
        note "kafka runs at $(kafka_address)"
        return 0
    fi
    local port controller
    port=$(free_port 9092)
    controller=$(free_port 9093 "$port")
    mkdir -p "$home"
    sed "s:@PORT@:$port:g; s:@CONTROLLER_PORT@:$controller:g; s:@DATA@:$home/data:g" \
        "$ROOT/tools/kafka/server.properties.in" >"$home/server.properties"
    if [ ! -f "$home/data/meta.properties" ]; then
        say "Formatting Kafka's storage"
        local id
        id=$(java -cp "$KAFKA_LIB/*" kafka.tools.StorageTool random-uuid 2>/dev/null) || die "java cannot run Kafka's StorageTool"
        quietly "Formatting Kafka's storage" java -cp "$KAFKA_LIB/*" kafka.tools.StorageTool format -t "$id" \
            -c "$home/server.properties"
    fi
    say "Starting Kafka on port $port"
    start kafka java -Xmx512m -cp "$KAFKA_LIB/*" kafka.Kafka "$home/server.properties"
    local waited
    for ((waited = 0; waited < 600; waited++)); do
        port_taken "$port" && grep -q 'Kafka Server started' "$(log_of kafka)" && return 0
        running kafka || fail_of kafka "Kafka ended right after its start"
        sleep 0.1
    done
    fail_of kafka "Kafka did not start within a minute"
}
