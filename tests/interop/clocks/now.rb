# Prints the time in milliseconds for each line of the standard input.
$stdout.sync = true
$stdin.each_line { puts((Time.now.to_r * 1000).to_i) }
