//! The connection of one client.

mod output;
mod replies;
mod unauthenticated;

use replies::Replies;

use super::{
    Stop,
    group::{GROUP, Named, OnItem},
    held::{Held, Which},
    stream::Stream,
};
use crate::{
    clients::{Clients, Listed},
    command::Command,
    commands::{QUEUED, Reply, call, unknown},
    limited::Limited,
    resp::{Decoder, Limits, ProtocolError, Request},
    server::Server,
    session::{After, Session},
};
use smallvec::SmallVec;
use std::{
    io, mem, ptr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{io::Interest, time::timeout};
use tracing::{info, warn};

/// The lines that a browser sends before a request body begin with one of these words.
const OF_HTTP: [&[u8]; 2] = [b"POST", b"Host:"];

/// The most bytes per read, after and before the client has authenticated.
const READ: usize = 16 * 1024;
const READ_UNAUTHENTICATED: usize = 4 * 1024;

/// An idle connection keeps a reply buffer of up to this size, which is not counted.
const KEPT: usize = 16 * 1024;

/// Memory for a partial request counts towards the limit from this size on.
const COUNTED: usize = 4 * 1024;

/// A client that has closed its sending side is disconnected if its socket accepts no replies for
/// this long.
const LAST_READ: Duration = Duration::from_secs(60);

/// Limits the log lines that clients can provoke.
static GARBAGE: Limited = Limited::new();
static HTTP: Limited = Limited::new();
static IDLE: Limited = Limited::new();
static UNREAD: Limited = Limited::new();
static UNAUTHENTICATED: Limited = Limited::new();

pub(super) struct Connection {
    stream: Stream,
    server: Arc<Server>,
    session: Session,
    _listed: Listed<Server>,
    /// When the last command ended.
    done: Instant,
    decoder: Decoder,
    held_requests: Held,
    limits: Limits,
    /// The result of the last decoding, if it has yet to be handled.
    held: Option<Result<Named, ProtocolError>>,
    /// The command of the last request, because most requests name the same command.
    last: Option<&'static Command>,
    replies: Replies,
}

/// Successive calls of one command, which are timed together.
struct Calls {
    command: &'static Command,
    since: Instant,
    calls: u64,
    errors: u64,
}

impl Calls {
    fn begin(command: &'static Command) -> Self {
        Self {
            command,
            since: Instant::now(),
            calls: 0,
            errors: 0,
        }
    }
}

impl Connection {
    pub(super) fn new(mut stream: Stream, server: Arc<Server>, session: Session) -> Self {
        if let Some(address) = stream.local_address() {
            session.client.local_address.get_or_init(|| address);
        }
        session.client.socket.get_or_init(|| stream.number());
        if session.authenticated {
            stream.allow_large_writes();
        }
        Self {
            limits: server.config.limits(),
            _listed: Clients::enter(server.clone(), &session.client),
            done: Instant::now(),
            held_requests: Held::new(server.clone(), Which::Requests),
            replies: Replies::new(server.clone(), session.client.clone()),
            stream,
            server,
            session,
            decoder: Decoder::default(),
            held: None,
            last: None,
        }
    }

    /// Serves the client until it disconnects, has to be disconnected, or `stop` fires.
    pub(super) async fn run(mut self, stop: &Stop) -> io::Result<()> {
        let served = self.serve(stop).await;
        // The server also stops if the client disconnected without waiting for the reply.
        if self.session.after == After::Shutdown {
            stop.now();
        }
        served?;
        self.write_all().await?;
        self.stream.finish();
        Ok(())
    }

    async fn serve(&mut self, stop: &Stop) -> io::Result<()> {
        self.stream.prepare()?;
        let stopped = stop.wait();
        tokio::pin!(stopped);
        let client = self.session.client.clone();
        let killed = client.killed();
        tokio::pin!(killed);
        while self.session.after == After::GoOn {
            let idle = match self.session.authenticated {
                true => self.server.tunable.timeout(),
                false => self.idle_unauthenticated(),
            };
            let interest = match self.has_replies() {
                true => Interest::READABLE | Interest::WRITABLE,
                false => Interest::READABLE,
            };
            let ready = async {
                match idle.is_zero() {
                    true => self.stream.ready(interest).await.map(Some),
                    false => match timeout(idle, self.stream.ready(interest)).await {
                        Ok(ready) => ready.map(Some),
                        Err(_) => Ok(None),
                    },
                }
            };
            let ready = tokio::select! {
                ready = ready => ready?,
                () = &mut stopped => break,
                () = &mut killed => None,
            };
            if client.was_killed() {
                self.forget_replies();
                return Ok(());
            }
            let Some(ready) = ready else {
                self.end_idle();
                return Ok(());
            };
            if ready.is_writable() {
                self.write()?;
            }
            if ready.is_readable() && !self.read().await? {
                // The client will not send more, but may still read.
                break;
            }
        }
        Ok(())
    }

    #[cold]
    fn end_idle(&mut self) {
        let (id, address) = (self.session.id, &self.session.address);
        match self.session.authenticated {
            true => IDLE.write(|| info!(id, "an idle client was disconnected")),
            false => {
                self.server.stats.unauthenticated_disconnected();
                UNAUTHENTICATED.write(|| {
                    info!(
                        id,
                        address, "a client that did not authenticate was disconnected"
                    );
                });
            }
        }
        self.forget_replies();
    }

    /// Reads once, runs the commands that were read and writes the replies. Returns false at the
    /// end of the client's stream.
    async fn read(&mut self) -> io::Result<bool> {
        let room = match self.session.authenticated {
            true => READ,
            false => READ_UNAUTHENTICATED,
        };
        let buffer = match self.decoder.buffer_with_room(room) {
            Ok(buffer) => buffer,
            Err(error) => {
                self.refuse(&error);
                return Ok(true);
            }
        };
        let read = tokio::select! {
            biased;
            read = self.stream.read_buf(buffer) => Some(read?),
            () = std::future::ready(()) => None,
        };
        match read {
            Some(0) => return Ok(false),
            Some(bytes) => self.server.stats.received(bytes),
            None => {
                self.decoder.shrink(READ);
                return Ok(true);
            }
        }
        self.work().await;
        self.write()?;
        // An idle connection keeps little memory.
        self.decoder.shrink(READ);
        if !self.count_requests(0) {
            self.refuse(&ProtocolError::Unfinished);
        }
        Ok(true)
    }

    /// Counts the memory of the partial request, plus `waiting` bytes of another request. Returns
    /// false if the requests of all clients exceed the limit.
    #[inline]
    fn count_requests(&mut self, waiting: usize) -> bool {
        let bytes = self.decoder.memory() + waiting;
        match self.session.authenticated {
            true if bytes <= COUNTED => self.held_requests.set(Which::Requests, 0),
            true => self.held_requests.set(Which::Requests, bytes),
            false => {
                let bytes = bytes + self.replies.small_memory();
                self.held_requests.set(Which::Unauthenticated, bytes)
            }
        }
    }

    /// Runs all complete commands.
    async fn work(&mut self) {
        let mut run = None;
        self.done = Instant::now();
        self.session.client.touch(self.done);
        while self.session.after == After::GoOn {
            match self.next() {
                Ok(Some(named)) if !self.session.authenticated => {
                    self.answer_unauthenticated(&named, &mut run);
                }
                Ok(Some(named)) => match OnItem::of(&named) {
                    Some(on_item) if self.may_group(on_item.command) => self.group(named, &mut run),
                    _ => match self.slow(&named) {
                        // A boxed future takes no room in the futures of idle clients.
                        Some(command) => {
                            let request = named.request;
                            Box::pin(self.answer_slowly(command, request, &mut run)).await;
                        }
                        None => self.answer(&named, &mut run),
                    },
                },
                Ok(None) => break,
                Err(error) => self.refuse(&error),
            }
            self.limit_replies();
        }
        self.count(run.take());
    }

    /// Returns the next complete request. This is the only place that looks up the command.
    fn next(&mut self) -> Result<Option<Named>, ProtocolError> {
        if let Some(held) = self.held.take() {
            return held.map(Some);
        }
        let limits = match self.session.authenticated {
            true => &self.limits,
            false => &Limits::UNAUTHENTICATED,
        };
        let Some(request) = self.decoder.next(limits)? else {
            return Ok(None);
        };
        let name = request.words().next().unwrap_or_default();
        let last = self.last.filter(|last| last.is_called(name));
        let command = last.or_else(|| self.server.commands.find(name));
        self.last = command;
        Ok(Some(Named { command, request }))
    }

    /// True if several calls of the command can run together.
    fn may_group(&self, command: &Command) -> bool {
        !self.session.is_queueing() && !self.server.refuses(command)
    }

    /// Runs `first` together with the requests after it that are alike, so that their loads from
    /// memory overlap.
    fn group(&mut self, first: Named, run: &mut Option<Calls>) {
        let mut requests: SmallVec<[Named; GROUP]> = SmallVec::new();
        requests.push(first);
        while requests.len() < GROUP {
            let next = match self.next() {
                Ok(None) => break,
                Ok(Some(request)) => Ok(request),
                Err(error) => Err(error),
            };
            match (OnItem::of(&requests[0]), next) {
                (Some(first), Ok(request)) if first.is_like(&request) => requests.push(request),
                (_, other) => {
                    self.held = Some(other);
                    break;
                }
            }
        }
        let Some(first) = OnItem::of(&requests[0]).filter(|_| requests.len() > 1) else {
            return self.answer(&requests[0], run);
        };
        let items = requests.iter().filter_map(OnItem::of);
        let items: SmallVec<[&[u8]; GROUP]> = items.map(|one| one.item).collect();
        let calls = self.calls(first.command, run);
        let (protocol, replies) = (self.session.protocol, &mut self.replies);
        let (mut errors, mut kept) = (0, Ok(()));
        let mut answer = |reply: Reply| {
            errors += u64::from(reply.is_error());
            kept = kept.and_then(|()| replies.push(&reply, protocol));
        };
        (first.together)(&self.server.store, first.key, &items, &mut answer);
        calls.calls += items.len() as u64;
        calls.errors += errors;
        self.note_time(first.command, &[first.name, first.key, first.item]);
        self.ensure(kept);
    }

    /// The current run of calls if it is of `command`, otherwise a new run.
    fn calls<'a>(&self, command: &'static Command, run: &'a mut Option<Calls>) -> &'a mut Calls {
        let is_same = |calls: &Calls| ptr::eq(calls.command, command);
        if !run.as_ref().is_some_and(is_same) {
            self.count(run.take());
            self.session.client.called(command);
        }
        run.get_or_insert_with(|| Calls::begin(command))
    }

    fn answer(&mut self, named: &Named, run: &mut Option<Calls>) {
        let Ok(args) = named.request.args() else {
            return self.reply(&Reply::NO_MEMORY);
        };
        let Some(command) = named.command else {
            self.count(run.take());
            if is_http(args[0]) {
                return self.refuse_http();
            }
            self.server.stats.unknown();
            let reply = unknown(&mut self.session, &args);
            return self.reply(&reply);
        };
        let calls = self.calls(command, run);
        let reply = self.call(command, &args);
        calls.calls += u64::from(reply != QUEUED);
        calls.errors += u64::from(reply.is_error());
        self.reply(&reply);
    }

    fn call(&mut self, command: &'static Command, args: &[&[u8]]) -> Reply {
        let reply = call(&self.server, &mut self.session, command, args);
        // A queued command is timed when it runs.
        if reply != QUEUED {
            self.note_time(command, args);
        }
        reply
    }

    /// The slow log attributes the time of commands that ran together to the first of them.
    fn note_time(&mut self, command: &Command, args: &[&[u8]]) {
        let now = Instant::now();
        let time = now - self.done;
        self.server
            .slow_log
            .note(&self.session.client, command, args, time);
        self.done = now;
    }

    /// Returns the command of the request if it may take long.
    fn slow(&self, named: &Named) -> Option<&'static Command> {
        let words = named.request.words().len();
        let takes_long = |command: &&Command| self.session.takes_long(command, words);
        named.command.filter(takes_long)
    }

    /// Like [`answer`](Self::answer), but on a thread other than the serving threads.
    async fn answer_slowly(
        &mut self,
        command: &'static Command,
        request: Request,
        run: &mut Option<Calls>,
    ) {
        // The command may have to wait for its turn.
        self.decoder.shrink(READ);
        if !self.count_requests(request.memory()) {
            return self.refuse(&ProtocolError::Unfinished);
        }
        let server = self.server.clone();
        // The session and the replies move to the other thread and back.
        let nobody = Session::new(0, String::new(), false);
        let calls = self.calls(command, run);
        let mut session = mem::replace(&mut self.session, nobody);
        let none = Replies::new(self.server.clone(), session.client.clone());
        let mut replies = mem::replace(&mut self.replies, none);
        let work = move || {
            let begun = Instant::now();
            let args = request.args();
            let reply = match &args {
                Ok(args) => call(&server, &mut session, command, args),
                Err(_) => Reply::NO_MEMORY,
            };
            let is_done = reply != QUEUED;
            if let (Ok(args), true) = (&args, is_done) {
                server
                    .slow_log
                    .note(&session.client, command, args, begun.elapsed());
            }
            let kept = replies.push(&reply, session.protocol);
            (session, replies, is_done, reply.is_error(), kept)
        };
        let Some((session, replies, is_done, is_error, kept)) =
            self.server.slow.run_command(work).await
        else {
            self.session.after = After::Close;
            return;
        };
        (self.session, self.replies) = (session, replies);
        self.done = Instant::now();
        calls.calls += u64::from(is_done);
        calls.errors += u64::from(is_error);
        self.ensure(kept);
    }

    fn count(&self, run: Option<Calls>) {
        if let Some(run) = run.filter(|run| run.calls > 0) {
            let time = run.since.elapsed();
            self.server
                .stats
                .count(run.command.index(), run.calls, run.errors, time);
        }
    }

    /// Refuses a browser that a web page made post commands to this port.
    fn refuse_http(&mut self) {
        self.server.stats.protocol_error();
        let (id, address) = (self.session.id, &self.session.address);
        HTTP.write(|| warn!(id, address, "a client that speaks HTTP was disconnected"));
        self.session.after = After::Close;
    }

    /// Refuses bytes that violate the protocol: the bytes after them cannot be interpreted.
    fn refuse(&mut self, error: &ProtocolError) {
        self.server.stats.protocol_error();
        let (id, address) = (self.session.id, &self.session.address);
        GARBAGE.write(|| info!(id, address, %error, "a client was disconnected"));
        let reply = Reply::Error(format!("ERR Protocol error: {error}").into());
        self.reply(&reply);
        self.session.after = After::Close;
    }
}

/// True for the first word of a line that a browser sends before a request body.
fn is_http(word: &[u8]) -> bool {
    OF_HTTP
        .iter()
        .any(|of_http| word.eq_ignore_ascii_case(of_http))
}
