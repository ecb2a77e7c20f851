# shellcheck shell=bash disable=SC2034  # its variables are for the files that source it
# Sourced by the other files of this folder: how dpjax is found, and what a node needs before dpjax starts.

store=@STORE@
folder=@FOLDER@
name=@NAME@
shards=@SHARDS@
retries=@RETRIES@  # how often a shard that was stopped is submitted again
gpus=@GPUS@
processes=@PROCESSES@  # workers of a shard, @THREADS@ thread(s) each
imports=(@IMPORTS@)

set +u  # activation scripts of modules and conda read variables that are not set
@ACTIVATE@
set -u

# Prints how many cells are left to compute.
cells_left() {
    local answer status=0
    answer=$(dpjax status "$store" --json) || status=$?
    if ((status != 0 && status != 4)); then return "$status"; fi  # 4: some points failed, which is an answer, too
    if [[ $answer =~ \"left\":\ *([0-9]+) ]]; then
        echo "${BASH_REMATCH[1]}"
    else
        echo "dpjax status $store says nothing about the cells that are left" >&2
        return 1
    fi
}

# Prints the ids of this study's shards that wait or run, with a colon between them.
queued() {
    squeue --noheader --user="$(id -un)" --name="$name" --format=%F | sort -u | paste -sd:
}

# Prints how many GPUs the job sees. CUDA_VISIBLE_DEVICES is set by Slurm; nvidia-smi itself does not read it.
visible_gpus() {
    case ${CUDA_VISIBLE_DEVICES-unset} in
        unset) { nvidia-smi --list-gpus 2>/dev/null || true; } | grep -c '^GPU' || true ;;
        "" | NoDevFiles | -1) echo 0 ;;
        *) tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c . ;;
    esac
}

# Sets what JAX reads when it starts.
prepare_node() {
    # Libraries start one thread for each CPU of the node; a worker uses those of its job only.
    export NPROC=@THREADS@ OMP_NUM_THREADS=@THREADS@ OPENBLAS_NUM_THREADS=@THREADS@ MKL_NUM_THREADS=@THREADS@
    export PYTHONUNBUFFERED=1

    # The device is part of a result's identity: with a platform that is named, JAX stops instead of using another one.
    if ((gpus)); then
        local count
        count=$(visible_gpus)
        if ((count != 1)); then
            echo "$(hostname): expected exactly 1 visible GPU, got $count; check --gres and the node's drivers" >&2
            return 2
        fi
        export JAX_PLATFORMS=cuda
    else
        export JAX_PLATFORMS=cpu
    fi

    # Compiled programs hold instructions of one kind of CPU: the cache is on the node, named by model and features.
    # It is private, since whoever can write to it decides what runs.
    local cpu cache
    cpu=$(awk -F: '/^(model name|flags|CPU part|Features)/ && !seen[$1]++' /proc/cpuinfo | sha256sum | cut -c1-16)
    cache=${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/dpjax-programs-$(id -u)-$cpu
    # shellcheck disable=SC2174  # its parent exists
    mkdir -p -m 700 "$cache" 2>/dev/null || true
    if [[ ! -d $cache || -L $cache || ! -O $cache || ! -w $cache ]]; then cache=$(mktemp -d); fi
    export DPJAX_COMPILE_CACHE=$cache
}
