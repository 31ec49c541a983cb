# Builds the container of the `cloudflare` backend for the native API, which needs no server in the image. unsquashfs reads
# copies that the SDK made. It has no workspace: a folder of an image cannot be renamed in one step, and so not be followed.
FROM docker.io/library/node:22-bookworm

RUN apt-get update && apt-get install -y --no-install-recommends squashfs-tools jq zip unzip && rm -rf /var/lib/apt/lists/*

# Distinguishes the images of two local servers (scripts/lib/sandbox-config.mjs).
ARG TALARIA_SERVER=none
LABEL talaria.server=$TALARIA_SERVER

# The first process has to collect children whose parents have ended. A shell does.
CMD ["bash", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"]
