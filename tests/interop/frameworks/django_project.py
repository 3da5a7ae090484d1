"""A project in Django: the webhook of the guide, and an address with CSRF protection."""

import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django_webhooks import webhooks

settings.configure(
    SECRET_KEY="a test",  # noqa: S106
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
)


def orders(_: HttpRequest) -> HttpResponse:
    return HttpResponse("an order")


urlpatterns = [path("webhooks", webhooks), path("orders", orders)]

execute_from_command_line([sys.argv[0], "runserver", "--noreload", "127.0.0.1:4000"])
