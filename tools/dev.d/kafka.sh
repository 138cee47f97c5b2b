# Kafka: fetched by Maven, one KRaft node under run/.
# shellcheck shell=bash

kafka_version() { sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' "$ROOT/tools/kafka/pom.xml"; }

KAFKA_LIB=$CACHE/kafka-$(kafka_version)

KAFKA_TOOLS_LIB=$CACHE/kafka-$(kafka_version)-tools

KAFKA_CONNECT_LIB=$CACHE/kafka-$(kafka_version)-connect

# fetch_jars FOLDER WHAT [MAVEN-ARGUMENT...]
fetch_jars() {
    local folder=$1 what=$2
    shift 2
    need_packages java
    [ -d "$folder" ] && return 0
    need_packages maven ca-certificates
    say "Fetching $what $(kafka_version)"
    rm -rf "$folder.part"
    quietly "Fetching $what by Maven" mvn -q -B -f "$ROOT/tools/kafka/pom.xml" "$@" dependency:copy-dependencies \
        "-DoutputDirectory=$folder.part"
    mv "$folder.part" "$folder"
}

fetch_kafka() { fetch_jars "$KAFKA_LIB" "Apache Kafka"; }

fetch_kafka_tools() { fetch_jars "$KAFKA_TOOLS_LIB" "Kafka's tools" -P tools; }

# The one test of it is skipped where they cannot be had.
fetch_kafka_connect() { (fetch_jars "$KAFKA_CONNECT_LIB" "Kafka Connect and a PostgreSQL for" -P connect) || true; }

kafka_address() { property "$RUN/kafka/server.properties" advertised.listeners | sed 's:.*//::'; }

start_kafka() {
    fetch_kafka
    local home=$RUN/kafka
    if running kafka; then
        note "kafka runs at $(kafka_address)"
        return 0
    fi
    local port controller before
    # Daemons that still run go on asking at the port of a Kafka that has died.
    before=$(kafka_address)
    if [ -n "$before" ] && same_port "${before##*:}"; then
        port=${before##*:}
    elif any_daemon_runs; then
        die "Kafka has ended, and another program took its port ${before##*:}, where daemons of this checkout still ask" \
            "./dev down, then ./dev up"
    else
        port=$(free_port 9092)
    fi
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

# The tools by the names of Kafka's scripts: kafka-topics.sh is topics.
declare -A KAFKA_TOOLS=(
    [acls]=org.apache.kafka.tools.AclCommand
    [broker-api-versions]=org.apache.kafka.tools.BrokerApiVersionsCommand
    [configs]=kafka.admin.ConfigCommand
    [console-consumer]=org.apache.kafka.tools.consumer.ConsoleConsumer
    [console-producer]=org.apache.kafka.tools.ConsoleProducer
    [consumer-groups]=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand
    [delete-records]=org.apache.kafka.tools.DeleteRecordsCommand
    [dump-log]=kafka.tools.DumpLogSegments
    [get-offsets]=org.apache.kafka.tools.GetOffsetShell
    [log-dirs]=org.apache.kafka.tools.LogDirsCommand
    [metadata-quorum]=org.apache.kafka.tools.MetadataQuorumCommand
    [producer-perf-test]=org.apache.kafka.tools.ProducerPerformance
    [topics]=org.apache.kafka.tools.TopicCommand
    [transactions]=org.apache.kafka.tools.TransactionsCommand
)

# Those that do not ask a broker, or name it by themselves.
KAFKA_TOOLS_WITHOUT_BROKER=' dump-log producer-perf-test '

command_kafka() {
    local tool=${1:-} broker=()
    [ -n "$tool" ] && [ -n "${KAFKA_TOOLS[$tool]:-}" ] ||
        die "usage: ./dev kafka TOOL [ARGUMENTS]" "TOOL is one of: $(printf '%s\n' "${!KAFKA_TOOLS[@]}" | sort | tr '\n' ' ')"
    shift
    [ -s "$RUN/kafka/server.properties" ] || die "there is no Kafka here yet: ./dev up"
    fetch_kafka_tools >&2
    [[ $KAFKA_TOOLS_WITHOUT_BROKER == *" $tool "* ]] || broker=(--bootstrap-server "$(kafka_address)")
    exec java -Xmx256m -cp "$KAFKA_TOOLS_LIB/*" "${KAFKA_TOOLS[$tool]}" "${broker[@]}" "$@"
}
