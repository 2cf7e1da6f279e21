/* The table of BPF programs, the hooks that they want, and the causes that they serve. */

#include "profiler/tracer/probe_table.h"

#define NEWER   "a newer kernel"
#define BUILTIN "load the file system that has a journal (modprobe jbd2)"
#define FTRACE  "a newer kernel, or one with CONFIG_FUNCTION_TRACER=y that lets functions be hooked"
#define TAG_WAITS                                                                                            \
	"a newer kernel; those that have ended are told by their wake-ups, the others undecided until they " \
	"end"
#define TAGLIB "a program that is linked to libstalltag, or imports stalltag"

const struct probe probe_table[] = {
	{ "core", "on_sched_switch", PROBE_TP_BTF, "sched_switch", true, NULL, NEWER, NULL, NULL },
	{ "core", "on_sched_waking", PROBE_TP_BTF, "sched_waking", true, NULL, NEWER, NULL, NULL },
	{ "core", "on_fork", PROBE_TP_BTF, "sched_process_fork", false, NULL, NEWER, NULL, NULL },
	{ "core", "on_exec", PROBE_TP_BTF, "sched_process_exec", false, NULL, NEWER, NULL, NULL },
	{ "core", "on_iter_task", PROBE_ITERATOR, "task", false, NULL, NEWER, NULL, NULL },
	{ "tags", "on_iter_context", PROBE_ITERATOR, "task (sleepable)", false, NULL, NEWER, NULL, NULL },
	{ "tags", "on_tag_change", PROBE_USDT, "stalltag:change", false, NULL, TAGLIB, NULL, NULL },
	{ "tags", "on_tag_process", PROBE_USDT, "stalltag:process", false, NULL, TAGLIB, NULL, NULL },
	{ "tags", "on_tag_lost", PROBE_USDT, "stalltag:lost", false, NULL, TAGLIB, NULL, NULL },
	{ "tag_log", "on_tag_log", PROBE_USDT, "stalltag:log", false, NULL, TAGLIB, NULL, NULL },
	{ "tag_log", "on_exit", PROBE_TP_BTF, "sched_process_exit", true, NULL, NEWER, NULL, NULL },
	{ "tag_log", "on_exiting", PROBE_FEXIT, "exit_signals", true, "on_exit", FTRACE, NULL, NULL },
	{ "tag_log", "on_prepare_exec", PROBE_TP_BTF, "sched_prepare_exec", true, NULL, NEWER, NULL, NULL },
	{ "tag_log", "on_executing", PROBE_FEXIT, "prepare_exec_creds", true, "on_prepare_exec", FTRACE, NULL,
	  NULL },
	{ "block_io", "on_rq_complete", PROBE_TP_BTF, "block_rq_complete", true, NULL, NEWER, NULL, NULL },
	{ "block_io", "on_io_done", PROBE_TP_BTF, "block_io_done", true, NULL, NEWER, NULL, NULL },
	{ "block_io", "on_update_done", PROBE_FEXIT, "blk_update_request", true, "on_io_done", FTRACE, NULL,
	  NULL },
	{ "block_io", "on_batch_done", PROBE_FEXIT, "blk_mq_end_request_batch", true, "on_io_done", FTRACE,
	  NULL, NULL },
	{ "block_io", "on_queue_work", PROBE_TP_BTF, "workqueue_queue_work", true, NULL, NEWER, NULL, NULL },
	{ "block_io", "on_work_start", PROBE_TP_BTF, "workqueue_execute_start", true, NULL, NEWER, NULL,
	  NULL },
	{ "block_io", "on_work_end", PROBE_TP_BTF, "workqueue_execute_end", true, NULL, NEWER, NULL, NULL },
	{ "throttle", "on_io_start", PROBE_TP_BTF, "block_io_start", true, NULL, NEWER, NULL, NULL },
	{ "throttle", "on_rq_issue", PROBE_TP_BTF, "block_rq_issue", true, "on_io_start", NEWER, NULL, NULL },
	{ "tag_wait", "on_tag_wait", PROBE_TP_BTF, "block_rq_tag_wait", true, NULL, TAG_WAITS, NULL, NULL },
	{ "tag_wait", "on_tag_get", PROBE_FENTRY, "blk_mq_get_tag", true, "on_tag_wait", TAG_WAITS, NULL,
	  NULL },
	{ "tag_wait", "on_tag_got", PROBE_FEXIT, "blk_mq_get_tag", true, "on_tag_wait", TAG_WAITS, NULL,
	  NULL },
	{ "writeback", "on_folio_wait_writeback", PROBE_TP_BTF, "folio_wait_writeback", true, NULL, NEWER,
	  NULL, NULL },
	{ "writeback", "on_balance_dirty_pages", PROBE_TP_BTF, "balance_dirty_pages", true, NULL, NEWER, NULL,
	  NULL },
	{ "writeback", "on_writeback_queue", PROBE_TP_BTF, "writeback_queue", true, NULL, NEWER, NULL, NULL },
	{ "journal", "on_commit_start", PROBE_TP_BTF, "jbd2_start_commit", true, NULL, BUILTIN, NULL, NULL },
	{ "journal", "on_commit_end", PROBE_TP_BTF, "jbd2_end_commit", true, NULL, BUILTIN, NULL, NULL },
	{ "journal", "on_iter_journal", PROBE_ITERATOR, "task (journals)", false, NULL, BUILTIN, NULL, NULL },
	{ "journal_xfs", "on_xfs_log_force", PROBE_TP_BTF, "xfs_log_force", true, NULL, NEWER, "xfs", NULL },
	{ "journal_xfs", "on_xfs_log_wait", PROBE_TP_BTF, "xlog_iclog_wait_on", true, NULL, NEWER, "xfs",
	  NULL },
	{ "journal_btrfs", "", PROBE_UNTOLD, "log", true, NULL,
	  "its waits for the log are counted as writeback and block_io", "btrfs", NULL },
	{ "nvme_reset", "on_nvme_state", PROBE_FEXIT, "nvme_change_ctrl_state", true, NULL, FTRACE, NULL,
	  "nvme_core" },
	{ "nvme_reset", "on_nvme_gone", PROBE_FENTRY, "nvme_uninit_ctrl", true, NULL, FTRACE, NULL,
	  "nvme_core" },
	{ "nvme_reset", "on_nvme_disable", PROBE_FENTRY, "nvme_dev_disable", true, NULL, FTRACE, NULL,
	  "nvme" },
	{ "nvme_reset", "on_queue_enter", PROBE_FENTRY, "__bio_queue_enter", true, NULL, FTRACE, NULL,
	  "nvme_core" },
	{ "nvme_reset", "on_queue_entered", PROBE_FEXIT, "__bio_queue_enter", true, NULL, FTRACE, NULL,
	  "nvme_core" },
	{ "nvme_timeout", "on_nvme_timeout", PROBE_FENTRY, "nvme_timeout", true, NULL, FTRACE, NULL, "nvme" },
	{ "nvme_abort", "on_nvme_timed_out", PROBE_FEXIT, "nvme_timeout", true, NULL, FTRACE, NULL, "nvme" },
	{ "nvme_timeout", "on_nvme_tcp_timeout", PROBE_FENTRY, "nvme_tcp_timeout", true, NULL, FTRACE, NULL,
	  "nvme_tcp" },
	{ "nvme_timeout", "on_nvme_rdma_timeout", PROBE_FENTRY, "nvme_rdma_timeout", true, NULL, FTRACE, NULL,
	  "nvme_rdma" },
	{ "nvme_timeout", "on_nvme_fc_timeout", PROBE_FENTRY, "nvme_fc_timeout", true, NULL, FTRACE, NULL,
	  "nvme_fc" },
	{ "cpu", "on_cpu_sample", PROBE_PERF_EVENT, "cpu-clock", true, NULL, NEWER, NULL, NULL },
};

const size_t probe_table_len = sizeof(probe_table) / sizeof(probe_table[0]);
