#!/usr/bin/env bash
# namespaces.sh [--hosts N] [--rate RATE] TRUNK PROGRAM ARGUMENTS...: runs PROGRAM on N (4) MPI ranks, each in a network
# namespace of its own. Half of the hosts are on one switch, half on another. Hosts have links of RATE (250mbit), and
# a link of TRUNK (such as 250mbit) joins the switches. Needs root, ip, tc and Open MPI; exit code 77 without these.
# The namespaces are removed afterwards.
set -euo pipefail

if [[ ${1:-} == --agent ]]; then  # how mpirun starts its daemon on a "host"; the arguments are words for a shell
  host=$2
  shift 2
  exec ip netns exec "$host" unshare --uts sh -c "hostname $host && exec $*"
fi

cannot() {
  echo "skipped: $*" >&2
  exit 77
}
[[ $(id -u) -eq 0 ]] || cannot "network namespaces need root"
for tool in ip tc unshare mpirun; do
  command -v "$tool" >/dev/null || cannot "there is no program \`$tool\`"
done
mpirun --version | grep -q 'Open MPI' || cannot "needs Open MPI"

ranks=4
host_rate=250mbit
while [[ $1 == --* ]]; do
  case $1 in
    --hosts) ranks=$2 ;;
    --rate) host_rate=$2 ;;
  esac
  shift 2
done
trunk=$1
shift
burst=10000  # bytes; messages below travel free
mtu=9000
prefix=pdlt$$n  # of our own: two runs at once do not meet
switches=${prefix}sw
mapfile -t hosts < <(seq 0 $((ranks - 1)))

clean_up() {
  local name
  for name in "${hosts[@]/#/$prefix}" "$switches"; do
    ip netns del "$name" 2>/dev/null || true
  done
}
trap clean_up EXIT
trap 'exit 130' INT TERM

limit() {  # NAMESPACE DEVICE RATE
  tc -n "$1" qdisc add dev "$2" root tbf rate "$3" burst $burst latency 200ms
}

join() {  # HOST SWITCH
  local host=$prefix$1 port=port$1
  ip netns add "$host"
  ip -n "$host" link set lo up
  ip -n "$switches" link add "$port" mtu $mtu type veth peer name eth0 mtu $mtu netns "$host"
  ip -n "$switches" link set "$port" master "$2" up
  ip -n "$host" addr add "10.78.0.$(($1 + 1))/24" dev eth0
  ip -n "$host" link set eth0 up
  limit "$host" eth0 $host_rate
  limit "$switches" "$port" $host_rate
}

ip netns add "$switches" 2>/dev/null || cannot "this machine makes no network namespaces"
ip -n "$switches" link set lo up
ip -n "$switches" link add trunk_a mtu $mtu type veth peer name trunk_b mtu $mtu
for side in a b; do
  ip -n "$switches" link add "switch_$side" mtu $mtu type bridge || cannot "this kernel has no bridges"
  ip -n "$switches" link set "switch_$side" up
  ip -n "$switches" link set "trunk_$side" master "switch_$side" up
  limit "$switches" "trunk_$side" "$trunk" || cannot "this kernel has no token buckets (tbf)"
done
ip -n "$switches" addr add 10.78.0.254/24 dev switch_a  # where mpirun sits
for host in "${hosts[@]}"; do
  if ((host < ranks / 2)); then join "$host" switch_a; else join "$host" switch_b; fi
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
list=$(printf ",$prefix%s:1" "${hosts[@]}")
# Large eager limits: otherwise messages in opposite directions sometimes wait for each other.
ip netns exec "$switches" timeout 900 mpirun \
  --mca plm_rsh_agent "$(readlink -f "$0") --agent" --mca plm_rsh_no_tree_spawn 1 \
  --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include 10.78.0.0/24 \
  --mca btl_tcp_eager_limit 67108864 --mca btl_tcp_rndv_eager_limit 67108864 --mca btl_tcp_max_send_size 67108864 \
  --bind-to none --host "${list#,}" -np ${#hosts[@]} "$@"
# Print the bytes on the trunk, to be sure that it was used.
sent=$(tc -n "$switches" -s qdisc show dev trunk_a | awk '/Sent/ { print $2; exit }')
echo "trunk of $trunk: $sent bytes"
((sent > 1000000)) || { echo "the traffic went another way" >&2; exit 1; }
