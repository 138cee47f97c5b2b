# Prometheus for compose.packages.yaml: Debian's package, called as prom/prometheus's image is.
ARG DEBIAN
FROM ${DEBIAN}
RUN apt-get update && apt-get install -y --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/* && \
    install -d -o prometheus -g prometheus /prometheus
USER prometheus
WORKDIR /prometheus
ENTRYPOINT ["prometheus"]
