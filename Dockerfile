# offered and nothing else: docker build -t offered:0.1.0 .
FROM rust:1.95-alpine AS build
RUN apk add --no-cache ca-certificates gcc make musl-dev
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist --package offered --bin offered --features full && mkdir /empty

# The targets of Alpine's Rust link everything in. What is judged in the container is spooled to /tmp.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /empty /tmp
COPY --from=build /src/target/dist/offered /offered
USER 65532:65532
ENTRYPOINT ["/offered"]
