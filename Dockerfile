# The command in an image of its own: docker build -t fireweed . && docker run --rm fireweed https://example.org/

FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make python3 ca-certificates
WORKDIR /source
COPY . .
RUN make image && mv .build/image /image

FROM scratch
COPY --from=build /image /
ENTRYPOINT ["/usr/bin/fireweed"]
