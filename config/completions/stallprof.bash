# Completion of stallprof for bash. Commands and options are those of the program that is called, which is asked for them.

# __stallprof_options PROGRAM COMMAND: its long options, those with a value with their "=".
__stallprof_options() {
	"$1" help "$2" 2>/dev/null | sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z][a-z0-9-]*=\{0,1\}\).*/\2/p'
}

# __stallprof_causes PROGRAM: those that doctor lists, and that are not needed by all others.
__stallprof_causes() {
	"$1" doctor 2>/dev/null | sed -n '/^hooks: /,$s/^  \([a-z][a-z_0-9]*\) .*/\1/p' | sort -u | grep -vx 'core\|tags'
}

# __stallprof_values OPTION COMMAND PROGRAM: what may stand behind it; nothing where that is a file, a name or a number.
__stallprof_values() {
	case $2:$1 in
	diff:--by | diff:-b) echo function line stack cause device class tag process inherited && return ;;
	diff:--format) echo text markdown json junit && return ;;
	record:--waits) echo auto long none && return ;;
	report:--format | report:-f) echo text markdown json html && return ;;
	esac
	case $1 in
	--by | -b) echo class tag process function line stack stall device inherited ;;
	--normalize | -N) echo wall tag step io bytes none ;;
	--type | -t) echo delay cpu contentions recovery ;;
	--stall | -s) echo block_io writeback journal throttle tag_wait nfs_read nfs_write dma_map dma_bounce gpu_sync collective gpu_ring gpu_fence nvme_timeout nvme_abort nvme_reset iommu_fault lock pipe socket poll sleep child stopped other undecided blocked ;;
	--demangle) echo templates full simplified none ;;
	--no-cause) __stallprof_causes "$3" ;;
	--python) echo true false ;;
	--host-signals) echo true false ;;
	--pid | -p) (cd /proc && echo [0-9]*) ;;
	esac
}

# Behind `--` stands a command of its own.
__stallprof_command() {
	if [ "$COMP_CWORD" -eq $(($1 + 1)) ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	elif declare -F _command_offset >/dev/null; then
		_command_offset $(($1 + 1))
	fi
}

_stallprof() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local command=${COMP_WORDS[1]} values i

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; }; then
		values="$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p')"
		[ "$COMP_CWORD" -eq 1 ] && values="$values help --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			__stallprof_command "$i" "$word"
			return
		fi
	done
	# --by=fu is three words to bash: --by, = and fu.
	[ "$word" = = ] && word=
	[ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
	values=$(__stallprof_values "$before" "$command" "$program")
	if [ -n "$values" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(__stallprof_options "$program" "$command")" -- "$word")
		[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	fi
}

complete -o default -F _stallprof stallprof
