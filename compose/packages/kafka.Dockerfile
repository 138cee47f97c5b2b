# Kafka for compose.packages.yaml: Java from Debian, and the settings of apache/kafka's image. The jars are mounted at /opt/kafka/libs.
ARG DEBIAN
FROM ${DEBIAN}
RUN apt-get update && apt-get install -y --no-install-recommends default-jre-headless && rm -rf /var/lib/apt/lists/* && \
    useradd --uid 1000 --no-create-home appuser && install -d -o appuser -g appuser /var/lib/kafka/data
COPY kafka-node /usr/local/bin/
USER 1000:1000
CMD ["kafka-node"]
