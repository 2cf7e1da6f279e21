/*
 * Tells the service manager the service's state, as sd_notify(3) does: a datagram to the socket that systemd names
 * in NOTIFY_SOCKET. Without one nothing is done; a message that can't be sent is lost.
 */
#ifndef STALLPROF_PROFILER_SYSTEMD_NOTIFY_H
#define STALLPROF_PROFILER_SYSTEMD_NOTIFY_H

/* "READY=1", "STOPPING=1"; several are separated by line breaks. */
void systemd_notify(const char *state);
/* RELOADING=1 with the time that it wants; READY=1 must follow. */
void systemd_notify_reloading(void);

#endif
