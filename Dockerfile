ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
# pip has an environment of its own, so that the image contains none.
RUN python -m venv /opt/build && python -m venv --without-pip /opt/venv
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY templates templates
COPY scenarios scenarios
COPY docs/guides/agents.md docs/guides/explore.md docs/guides/
RUN /opt/build/bin/pip --python /opt/venv/bin/python install --no-cache-dir --no-compile .

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/venv /opt/venv
# The base image has no compiled modules, and a container with a read-only root file system cannot
# store them: each start would take several times as long. OpenShift runs a container as any user of
# group 0, which therefore owns /data and each named volume that is mounted there.
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/venv /usr/lib /usr/local/lib \
 && install -d -o 10001 -g 0 -m 775 /data
# The log of a container must show each line at once.
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 EMULATOR_HOST=0.0.0.0
USER 10001:0
WORKDIR /data
EXPOSE 8080 8081
# Without --start-interval: podman 4, and Docker before 25.0, refuse to build an image that has it.
HEALTHCHECK --interval=1s --timeout=3s --start-period=10s --retries=3 CMD ["payments-emulator", "health"]
CMD ["payments-emulator", "serve"]
