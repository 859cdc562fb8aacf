# As Debian's and Ubuntu's installers leave /etc/hosts: the machine's own name points to a loopback address.
set -e
name=$(hostname)
others=$(grep -v "[[:space:]]$name\$" /etc/hosts)
printf '127.0.1.1 %s\n%s\n' "$name" "$others" > /etc/hosts
