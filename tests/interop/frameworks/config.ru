# A small application in Rails, from Debian's packages: what its generator makes, in one file.
require "rails"
require "action_controller/railtie"
require "active_job/railtie"
require "active_record"

$LOAD_PATH.unshift(__dir__)
$stdout.sync = true

class Shop < Rails::Application
  config.root = __dir__
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.secret_key_base = "a test"
  # One thread, because a thread that waits for SQLite blocks the others.
  config.active_job.queue_adapter = ActiveJob::QueueAdapters::AsyncAdapter.new(min_threads: 1, max_threads: 1)
  config.logger = Logger.new($stderr)
end

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: "shop.db")
ActiveRecord::Base.connection.create_table(:webhooks, id: :string)

class Webhook < ActiveRecord::Base; end
class ApplicationJob < ActiveJob::Base; end
class ApplicationController < ActionController::Base; end
class OrdersController < ApplicationController
  def create = render(plain: "an order")
end

Shop.initialize!
require "webhooks_controller"
require "settle_job"
Shop.routes.draw do
  post "webhooks", to: "webhooks#create"
  post "orders", to: "orders#create"
end
run Shop
