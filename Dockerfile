# The emulator as a container: the virtual environment is built in one stage and copied whole into
# the other, so that neither pip nor the sources of the build are in the image.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
# In any version, since only the build uses it.
# hadolint ignore=DL3008
RUN apt-get update -q && apt-get install -yq --no-install-recommends binutils
# pip works from an environment of its own; that of the emulator never has one.
RUN python -m venv /opt/build && python -m venv --without-pip /opt/venv
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY templates templates
COPY scenarios scenarios
COPY docs/guides docs/guides
RUN /opt/build/bin/pip --python /opt/venv/bin/python install --no-cache-dir --no-compile . \
 # Sources in Cython and C, which nothing reads at run time.
 && find /opt/venv -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.c' -o -name '*.h' \) -delete \
 # Debug symbols are half of the environment.
 && find /opt/venv -name '*.so' -exec strip --strip-unneeded {} + \
 # Compiled here, since a read-only container cannot do it, and without it starting takes five
 # times as long; with the modules of the standard library that the emulator imports, since the
 # image of Python has none compiled. By hash, not by time: what copies an image may change times.
 && /opt/venv/bin/python -B -c 'import importlib, pkgutil, sys, emulator; \
      packages = pkgutil.walk_packages(emulator.__path__, "emulator."); \
      names = [each.name for each in packages if "pytest" not in each.name]; \
      [importlib.import_module(name) for name in names if not name.endswith("__main__")]; \
      files = [getattr(module, "__file__", None) for module in sys.modules.values()]; \
      print(*filter(None, files), sep="\n")' >/opt/modules \
 && PYTHONPYCACHEPREFIX=/opt/venv/compiled /opt/venv/bin/python -B -m compileall -q -j 0 \
      --invalidation-mode unchecked-hash -i /opt/modules /opt/venv/lib \
 # Empty, and owned by who runs the emulator: a named volume mounted here is so, too.
 && mkdir /data && chown 10001:10001 /data

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build --chown=10001:10001 /data /data
# Output is for whoever reads the container's log now, so Python does not keep it back.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPYCACHEPREFIX=/opt/venv/compiled \
    PYTHONUNBUFFERED=1 \
    EMULATOR_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
EXPOSE 8080 8081
HEALTHCHECK --interval=1s --timeout=3s --start-period=10s --retries=3 CMD ["payments-emulator", "health"]
CMD ["payments-emulator", "serve"]
