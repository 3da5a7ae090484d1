# The emulator as a container: the virtual environment is built in one stage and copied whole into
# the other, so that neither pip nor the sources of the build are in the image.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
# pip works from an environment of its own; that of the emulator never has one.
RUN python -m venv /opt/build && python -m venv --without-pip /opt/venv
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY templates templates
COPY scenarios scenarios
RUN /opt/build/bin/pip --python /opt/venv/bin/python install --no-cache-dir --no-compile . \
 # Sources in Cython and C, which nothing reads at run time.
 && find /opt/venv -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.c' -o -name '*.h' \) -delete \
 # Compiled here, since a read-only container cannot do it, and without it starting takes five
 # times as long. By hash, not by time: what copies an image may change times.
 && /opt/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/venv/lib \
 # Empty, and owned by who runs the emulator: a named volume mounted here is so, too.
 && mkdir /data && chown 10001:10001 /data

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build --chown=10001:10001 /data /data
# Output is for whoever reads the container's log now, so Python does not keep it back.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    EMULATOR_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
EXPOSE 8080 8081
HEALTHCHECK --interval=1s --timeout=3s --start-period=10s --retries=3 CMD ["payments-emulator", "health"]
CMD ["payments-emulator", "serve"]
