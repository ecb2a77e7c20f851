#!/usr/bin/env bash
# Submits the shards, and the job that makes the result after them. Run it again at any time to go on: what is stored
# is not computed again. Options go to the sbatch of the shards, for example --array=3,17 for two of them.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=environment.sh
source @FOLDER@/environment.sh

shards_queued=$(queued)
if [[ -n $shards_queued ]]; then
    echo "shards of this study wait or run already: $shards_queued; to stop them: scancel --name=$name,$name-finish" >&2
    exit 1
fi
left=$(cells_left)
if ((left == 0)); then
    echo "no cell is left; the result: dpjax curve $store --out $store ${imports[*]}"
    exit 0
fi
mkdir -p "$folder/logs"  # Slurm does not make it, and a job without it fails without a word
job=$(sbatch --parsable "$@" "$folder/shard.sbatch")
job=${job%%;*}  # JOB;CLUSTER where there are several clusters
last=$(sbatch --parsable --dependency="afterany:$job" "$folder/finish.sbatch")
echo "$left cells are left: shards are job $job, the result is made by job ${last%%;*}"
echo "to watch: squeue --name=$name,$name-finish; tail -f $folder/logs/*; dpjax status $store"
echo "to stop: scancel --name=$name,$name-finish"
