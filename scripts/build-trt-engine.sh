#!/usr/bin/env bash
# From an exported ONNX model to a TensorRT engine for one of the pools, through trtexec. Needs bash, GNU grep and coreutils, no Node:
# for the Triton container that will serve the engine.
#
# usage: scripts/build-trt-engine.sh --profile online_embed|online_rerank|batch_ingestion --onnx-path FILE --output-engine-path FILE
#   --max-batch N, --max-tokens N   default: the pool's
#   --precision fp16|fp32           what the graph computes in (fp16)
#   --workspace MIB                 GPU memory for scratch space; default: from RAG_SERVING_MAX_STATIC_VRAM_BYTES
#   --timing-cache FILE             default: trt-timing.cache beside the engine; --no-timing-cache for none
#   --optimization-level 0-5        how long TensorRT searches (3)
#   --device N                      which GPU (0)
#   --trtexec PATH                  default: from PATH, then where NVIDIA puts it
#   --dry-run                       print the command, write FILE.plan.json, build nothing
# Exit codes: 0 done; 1 failed; 2 wrong usage; 3 the model was refused; 130 interrupted.
#
# It gives the command of scripts/build-trt-engine (tests compare them) and the same manifest. It does not look into the graph: inputs,
# output and metadata are read from the file's bytes, which is exact for files that export-onnx wrote. Run that one's --dry-run first,
# anywhere, for the checks of length, precision and operators.
set -euo pipefail
export LC_ALL=C

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() { printf '%s\n' "$2" >&2 && exit "$1"; } # code, message
readonly FAILED=1 USAGE=2 REFUSED=3 INTERRUPTED=130 MIB=1048576 TEBIBYTE=1099511627776
readonly HOW_TO_GET_IT='trtexec comes with the Triton containers of NVIDIA (tritonserver:<version>-py3): run this in the one that will serve the engine, or give --trtexec PATH'

profile='' onnx='' engine='' max_batch='' max_tokens='' precision=fp16 workspace='' cache=default level=3 device=0 trtexec='' dry_run=no

whole() { # option, value, smallest, largest
  if [[ ! $2 =~ ^[0-9]{1,9}$ ]] || ((10#$2 < $3 || 10#$2 > $4)); then fail "$USAGE" "$1 must be a whole number from $3 to $4, got '$2'"; fi
  echo $((10#$2))
}

while (($# > 0)); do
  option=$1 value=''
  case $option in
    --help | -h) usage && exit 0 ;;
    --dry-run) dry_run=yes && shift && continue ;;
    --no-timing-cache) cache='' && shift && continue ;;
    --*=*) value=${option#*=} option=${option%%=*} && shift ;;
    *) (($# > 1)) || fail "$USAGE" "$option: a value is missing, or there is no such option"; value=$2 && shift 2 ;;
  esac
  case $option in
    --profile) profile=$value ;;
    --onnx-path) onnx=$value ;;
    --output-engine-path) engine=$value ;;
    --max-batch) max_batch=$(whole "$option" "$value" 1 999999999) ;;
    --max-tokens) max_tokens=$(whole "$option" "$value" 1 999999999) ;;
    --precision) precision=$value ;;
    --workspace) workspace=$(whole "$option" "$value" 1 999999999) ;;
    --timing-cache) cache=$value ;;
    --optimization-level) level=$(whole "$option" "$value" 0 5) ;;
    --device) device=$(whole "$option" "$value" 0 999999999) ;;
    --trtexec) trtexec=$value ;;
    *) fail "$USAGE" "no such option: $option (--help tells the options)" ;;
  esac
done

# The pools' numbers, as in scripts/pools.ts.
case $profile in
  online_embed) model_type=embedding batch=32 tokens=512 usual_batch=8 usual_tokens=64 ;;
  online_rerank) model_type=reranker batch=32 tokens=2048 usual_batch=32 usual_tokens=256 ;;
  batch_ingestion) model_type=embedding batch=256 tokens=512 usual_batch=256 usual_tokens=256 ;;
  *) fail "$USAGE" "--profile must be online_embed, online_rerank or batch_ingestion, got '$profile'" ;;
esac
[[ $precision == fp16 || $precision == fp32 ]] || fail "$USAGE" "--precision must be fp16 or fp32, got '$precision'"
[[ -n $onnx && -n $engine ]] || fail "$USAGE" '--onnx-path and --output-engine-path are needed'
[[ -f $onnx ]] || fail "$USAGE" "--onnx-path $onnx is no file"
onnx=$(realpath -ms -- "$onnx")
engine=$(realpath -ms -- "$engine")
[[ ! -d $engine ]] || fail "$USAGE" "--output-engine-path $engine is a folder: name a file for the engine"
[[ $engine != "$onnx" ]] || fail "$USAGE" "--output-engine-path $engine is the model itself: name a file for the engine"
folder=${engine%/*} name=${engine##*/}
work=${folder:-/}/.$name.building plan=$engine.plan.json manifest=$engine.manifest.json
if [[ $cache == default ]]; then cache=$folder/trt-timing.cache; elif [[ -n $cache ]]; then cache=$(realpath -ms -- "$cache"); fi

if [[ -n $trtexec ]]; then
  [[ -f $trtexec && -x $trtexec ]] || fail "$USAGE" "--trtexec $trtexec is no program"
  trtexec=$(realpath -ms -- "$trtexec")
else
  while IFS= read -r -d : place; do
    [[ -n $place && -f $place/trtexec && -x $place/trtexec ]] || continue
    trtexec=$(realpath -ms -- "$place/trtexec") && break
  done <<<"$PATH:/usr/src/tensorrt/bin:/opt/tensorrt/bin:"
fi
if [[ -z $trtexec && $dry_run == no ]]; then fail "$FAILED" "there is no trtexec here: $HOW_TO_GET_IT; --dry-run does without"; fi

rm -f -- "$plan" # A plan of before is not one of what follows, however that ends.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rag-build-trt-XXXXXX")
child='' watcher='' owned=no
cleanup() {
  if [[ -n $child ]]; then
    kill -TERM "$child" 2>/dev/null || true
    for _ in {1..50}; do if kill -0 "$child" 2>/dev/null; then sleep 0.1; fi; done
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" "$watcher" 2>/dev/null || true
  fi
  rm -rf "$scratch"
  if [[ $owned == yes ]]; then rm -rf "$work"; fi
}
trap cleanup EXIT
trap 'exit $INTERRUPTED' INT TERM

# Protobuf writes an input (0x5a) or output (0x62) of the graph as: tag, length, 0x0a, length of the name, name, 0x12 (its type).
declares() { # tag, name
  grep -qaPz -- "\\x$1[\\x04-\\x7f]\\x0a$(printf '\\x%02x' ${#2})$2\\x12" "$onnx"
}

# Metadata (0x72) lies behind the graph: tag, length, 0x0a, length of the key, key, 0x12, length of the value, value.
declare -A properties=() && property_names=()
read_properties() {
  local tail=$scratch/tail at key size byte more
  tail -c 65536 -- "$onnx" >"$tail"
  while IFS=: read -r at key; do
    ((at > 0)) || continue
    size=$(od -An -v -tu1 -j $((at - 1)) -N1 "$tail")
    ((size == ${#key})) || continue
    read -r byte more <<<"$(od -An -v -tu1 -j $((at + size + 1)) -N2 "$tail")"
    at=$((at + size + 2))
    # Lengths from 128 on take two bytes, seven bits in each.
    if ((byte >= 128)); then byte=$((byte - 128 + more * 128)) at=$((at + 1)); fi
    property_names+=("${key#rag_serving.}")
    properties[${key#rag_serving.}]=$(tail -c +$((at + 1)) "$tail" | head -c "$byte")
  done < <(grep -aboP 'rag_serving\.[a-z0-9_]+(?=\x12)' "$tail")
}

read_properties

refuse() { fail "$REFUSED" "$onnx is no model for an engine of $profile: $1"; }
[[ -n ${properties[model]:-} ]] || refuse 'it has no metadata rag_serving.model, so nobody could tell its vectors from those of another model: export it with export-onnx'
if [[ $precision == fp16 && ${properties[compute]:-} != fp16 ]]; then
  refuse "its metadata says rag_serving.compute \"${properties[compute]:-}\", not \"fp16\": export it with export-onnx --fp16, or give --precision fp32"
fi
[[ $precision != fp32 || ${properties[compute]:-} != fp16 ]] || refuse 'it computes in FP16: --precision fp32 takes a graph that is FP32 throughout'
output=EMBEDDING && [[ $model_type == embedding ]] || output=SCORE
declares 62 "$output" || refuse "profile $profile serves the one output $output (export-onnx --model-type $model_type), and it does not have it"
inputs=()
for input in input_ids attention_mask token_type_ids; do if declares 5a "$input"; then inputs+=("$input"); fi; done
[[ " ${inputs[*]} " == *' input_ids attention_mask '* ]] || refuse "it has the inputs ${inputs[*]:-none}, not input_ids and attention_mask"
batch=${max_batch:-$batch} tokens=${max_tokens:-$tokens}
usual_batch=$((usual_batch < batch ? usual_batch : batch)) usual_tokens=$((usual_tokens < tokens ? usual_tokens : tokens))
positions=${properties[positions]:-}
if [[ -n $positions ]] && ((positions < tokens)); then
  refuse "it has $positions positions, and profile $profile is for $tokens tokens: take a model with a longer window, or give --max-tokens $positions and the tokenizer the same length"
fi

bytes_of() { stat -Lc %s -- "$1"; }
weights=$(bytes_of "$onnx")
if [[ -f $onnx.data ]]; then weights=$((weights + $(bytes_of "$onnx.data"))); fi

setting() { # name, default; a blank one is unset
  local value=${!1:-}
  value=${value#"${value%%[![:space:]]*}"} value=${value%"${value##*[![:space:]]}"}
  value=${value:-$2}
  if [[ ! $value =~ ^\+?[0-9]{1,16}$ ]] || ((10#${value#+} < 1 || 10#${value#+} > TEBIBYTE)); then
    fail "$USAGE" "$1 must be an integer from 1 to $TEBIBYTE in plain digits"
  fi
  echo $((10#${value#+}))
}
static=$(setting RAG_SERVING_MAX_STATIC_VRAM_BYTES 21474836480)
capacity=$(setting RAG_SERVING_VRAM_CAPACITY_BYTES 25769803776)
((static <= capacity)) || fail "$USAGE" "RAG_SERVING_MAX_STATIC_VRAM_BYTES ($static) is more than RAG_SERVING_VRAM_CAPACITY_BYTES ($capacity); set at most as much"
if [[ -z $workspace ]]; then
  workspace=$(((static - weights) / 2 / MIB))
  ((workspace >= 256)) || fail "$USAGE" "RAG_SERVING_MAX_STATIC_VRAM_BYTES ($static) leaves less than 256 MiB of workspace beside $weights bytes of weights: raise it, or give --workspace MIB"
fi

shapes() { (IFS=, && specs=("${inputs[@]/%/:$1x$2}") && echo "${specs[*]}"); } # batch, tokens
command=("${trtexec:-trtexec}" "--onnx=$onnx" "--saveEngine=$work/$name"
  "--minShapes=$(shapes 1 1)" "--optShapes=$(shapes "$usual_batch" "$usual_tokens")" "--maxShapes=$(shapes "$batch" "$tokens")"
  --stronglyTyped)
if [[ $precision == fp32 ]]; then command+=(--noTF32); fi
command+=("--memPoolSize=workspace:${workspace}M")
if [[ -n $cache ]]; then command+=("--timingCacheFile=$cache"); fi
command+=("--builderOptimizationLevel=$level" "--device=$device" --skipInference)

shell_line() {
  local word line='' quote="'\\''"
  for word in "${command[@]}"; do
    [[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]] || word="'${word//\'/"$quote"}'"
    line+=" $word"
  done
  printf '%s\n' "${line# }"
}

json() { # a string
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"} text=${text//$'\n'/\\n} text=${text//$'\t'/\\t} text=${text//$'\r'/\\r}
  printf '"%s"' "$text"
}
json_list() {
  local item list=''
  for item in "$@"; do list+=", $(json "$item")"; done
  printf '[%s]' "${list#, }"
}
extent() { printf '{ "batch": %s, "tokens": %s }' "$1" "$2"; }
json_file() { # path
  printf '{ "file": %s, "bytes": %s, "sha256": "%s" }' "$(json "${1##*/}")" "$(bytes_of "$1")" "$(sha256sum <"$1" | head -c 64)"
}
describe() { # status, further fields
  local key fingerprint='' data=null
  for key in "${property_names[@]}"; do fingerprint+=", $(json "$key"): $(json "${properties[$key]}")"; done
  if [[ -f $onnx.data ]]; then data=$(json_file "$onnx.data"); fi
  cat <<JSON
{
  "format": "rag-serving-trt-engine/1",
  "createdAt": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "profile": "$profile",
  "modelType": "$model_type",
  "precision": "$precision",
  "source": $(json_file "$onnx"),
  "sourceData": $data,
  "fingerprint": { ${fingerprint#, } },
  "inputs": $(json_list "${inputs[@]}"),
  "shapes": { "min": $(extent 1 1), "opt": $(extent "$usual_batch" "$usual_tokens"), "max": $(extent "$batch" "$tokens") },
  "workspaceMib": $workspace,
  "command": $(json_list "${command[@]}"),
  "trial": null,
  "status": "$1"$2
}
JSON
}

mkdir -p -- "${folder:-/}"
if [[ $dry_run == yes ]]; then
  describe planned '' >"$plan.tmp-$$" && mv -f "$plan.tmp-$$" "$plan"
  shell_line
  printf '%s: a plan of what would be built; no engine was\n' "$plan" >&2
  exit 0
fi

banner=$("$trtexec" --help 2>&1 | grep -m1 -oP '\[TensorRT v\K\d{4,6}(?=\])' || true)
[[ -n $banner ]] || fail "$FAILED" "$trtexec --help does not tell a version of TensorRT: $HOW_TO_GET_IT"
per_major=$((${#banner} > 4 ? 10000 : 1000))
tensorrt=$((banner / per_major)).$((banner % per_major / 100)).$((banner % 100))
((banner / per_major >= 10)) || fail "$FAILED" "$trtexec is of TensorRT $tensorrt; 10 is the oldest that takes these models: $HOW_TO_GET_IT"
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n1 | tr -d ' ' || true)
cuda=${CUDA_VERSION:-}
if [[ -z $cuda ]]; then cuda=$(nvidia-smi 2>/dev/null | grep -m1 -oP 'CUDA Version: \K\d+\.\d+' || true); fi

if ! mkdir "$work" 2>/dev/null; then
  [[ -d $work ]] || fail "$FAILED" "$work cannot be made: see to the rights of the folder"
  read -r owner host < <(cat -- "$work/owner" 2>/dev/null) || true
  if [[ ${host:-} != "$(uname -n)" ]] || kill -0 "${owner:-0}" 2>/dev/null; then
    fail "$USAGE" "$work belongs to another build (${owner:-it does not say which}${host:+ $host}): wait for it, or remove the folder if no build runs"
  fi
  rm -rf "$work" && mkdir "$work"
fi
owned=yes
echo "$$ $(uname -n)" >"$work/owner"
free=$(($(df -B1 --output=avail -- "$work" | tail -n 1)))
((free >= weights)) || fail "$FAILED" "$folder has $free bytes free, and the engine takes about $weights: make room, or write it elsewhere"

printf 'TensorRT %s: %s\n' "$tensorrt" "$(shell_line)" >&2
started=$SECONDS
: >"$scratch/log"
"${command[@]}" >"$scratch/log" 2>&1 &
child=$!
tail -n +1 -s 0.2 --pid="$child" -f "$scratch/log" >&2 &
watcher=$!
code=0 && wait "$child" || code=$?
child='' && wait "$watcher" || true

if ((code != 0)) || [[ ! -s $work/$name ]]; then
  advice=''
  last=$(grep -v '^[[:space:]]*$' "$scratch/log" | tail -n 40)
  # What the words of trtexec mean, as in scripts/build-trt-engine/failure.ts.
  while IFS=@ read -r pattern meaning; do
    if [[ -n $last ]] && grep -qE -- "$pattern" <<<"$last"; then advice=$meaning && break; fi
  done <<'REMEDIES'
no CUDA-capable device|Cannot find any available devices|Cannot find device ID@no GPU is to be seen: give the container one (docker run --gpus), or another --device
driver version is insufficient|no kernel image is available|forward compatibility@the driver or the GPU is too old for this TensorRT: take an older container image, or a newer driver
[Oo]ut ?[Oo]f ?[Mm]emory|Requested amount of GPU memory@the GPU memory does not do: stop what else uses the GPU, give a smaller --workspace, or a smaller --max-batch
Could not find any implementation for node@no kernel fits into the workspace: give a larger --workspace
No importer registered for op|UNSUPPORTED_NODE|unsupported operator|Plugin not found@this TensorRT does not know an operator of the model: take a newer one, or export the model with opset 17
Unknown option|[Ii]nvalid argument|conversion failure@this trtexec does not know the options: TensorRT 10 or newer is needed
No space left on device|Saving engine to file failed|Cannot write@the engine could not be written: make room, or see to the rights of the folder
REMEDIES
  if [[ -z $advice ]] && ((code == 137)); then advice='it was killed: most likely the memory of the machine or its container ran out'; fi
  end="ended with $code" && ((code != 0)) || end='ended with 0 and left no engine'
  printf 'trtexec %s; the last it printed:\n%s\n' "$end" "$last" >&2
  fail "$FAILED" "${advice:+→ $advice}"
fi
gpu=$(grep -m1 -oP 'Selected Device: \K.*\S' "$scratch/log" || true)
capability=$(grep -m1 -oP 'Compute Capability: \K\d+\.\d+' "$scratch/log" || true)
[[ -n $gpu && -n $capability ]] || fail "$FAILED" 'trtexec did not say which GPU it built for (Selected Device, Compute Capability): the engine could be served on a wrong one, and was thrown away'

or_null() { if [[ -n $1 ]]; then json "$1"; else echo null; fi; }
describe built ",
  \"engine\": $(json_file "$work/$name"),
  \"tensorrt\": \"$tensorrt\",
  \"cuda\": $(or_null "$cuda"),
  \"driver\": $(or_null "$driver"),
  \"gpu\": { \"name\": $(json "$gpu"), \"computeCapability\": \"$capability\" },
  \"buildSeconds\": $((SECONDS - started))" >"$work/manifest.json"
# The old manifest goes first: an engine without one is refused later, an engine with another's is believed.
rm -f "$manifest" && mv -f "$work/$name" "$engine" && mv -f "$work/manifest.json" "$manifest"
printf '%s\n%s\n' "$engine" "$manifest" >&2
