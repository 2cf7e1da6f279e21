# Completion of stallprof for fish. Commands and options are those of the program that is called, which is asked for them.

function __stallprof_commands
    stallprof --help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end

# The options of the command on the line, with their help.
function __stallprof_options
    set -l words (commandline -opc)
    stallprof help $words[2] 2>/dev/null | string replace -rf '^ *(?:-., )?(--[a-z][a-z0-9-]*)(?:=[A-Z|=]*)? *(.*)' '$1\t$2'
end

# Whether the word before the cursor is one of these options.
function __stallprof_after
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end

function __stallprof_of
    set -l words (commandline -opc)
    test "$words[2]" = $argv[1]
end

# Those that doctor lists, and that are not needed by all others.
function __stallprof_causes
    stallprof doctor 2>/dev/null | sed -n '/^hooks: /,$s/^  \([a-z][a-z_0-9]*\) .*/\1/p' | sort -u | string match -vr '^(core|tags)$'
end

# Behind `--` stands a command of its own.
function __stallprof_behind_separator
    contains -- -- (commandline -opc)
end

function __stallprof_takes_options
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" != help; and not __stallprof_behind_separator
end

function __stallprof_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- $words[(math $at + 1)..-1])
end

complete -c stallprof -n 'test (count (commandline -opc)) -eq 1' -xa '(__stallprof_commands) help --version'
complete -c stallprof -n 'test (count (commandline -opc)) -eq 2; and contains -- help (commandline -opc)' -xa '(__stallprof_commands)'
complete -c stallprof -n '__stallprof_takes_options; and string match -q -- "-*" (commandline -ct)' -a '(__stallprof_options)'
complete -c stallprof -n '__stallprof_takes_options; and not __stallprof_of diff; and __stallprof_after --by -b' -xa 'class tag process function line stack stall device inherited'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --normalize -N' -xa 'wall tag step io bytes none'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --type -t' -xa 'delay cpu contentions recovery'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --stall -s' -xa 'block_io writeback journal throttle tag_wait nfs_read nfs_write dma_map dma_bounce gpu_sync collective gpu_ring gpu_fence nvme_timeout nvme_abort nvme_reset iommu_fault lock pipe socket poll sleep child stopped other undecided blocked'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --demangle' -xa 'templates full simplified none'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_of record; and __stallprof_after --waits' -xa 'auto long none'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --python --host-signals' -xa 'true false'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --pid -p' -xa '(__fish_complete_pids)'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_of diff; and __stallprof_after --by -b' -xa 'function line stack cause device class tag process inherited'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_of diff; and __stallprof_after --format' -xa 'text markdown json junit'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_of report; and __stallprof_after --format -f' -xa 'text markdown json html'
complete -c stallprof -n '__stallprof_takes_options; and __stallprof_after --no-cause' -xa '(__stallprof_causes)'
complete -c stallprof -n __stallprof_behind_separator -xa '(__stallprof_command)'
