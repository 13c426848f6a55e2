//! The queue of tasks to poll, filled by wakers. It replaces an asynchronous runtime.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Something that can be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The connection with this key.
    Connection(usize),
    /// The exchange with this key.
    Exchange(usize),
}

/// Tasks that have been woken, in order.
#[derive(Clone, Default)]
pub(super) struct WakeQueue(Arc<Mutex<Vec<Task>>>);

/// Wakes one task.
struct TaskWaker(Task, WakeQueue);

impl WakeQueue {
    /// A waker for `task`. A key may be reused for another task; polling that one needlessly does no harm.
    pub(super) fn waker(&self, task: Task) -> Waker {
        Waker::from(Arc::new(TaskWaker(task, self.clone())))
    }

    /// Wakes a task.
    pub(super) fn wake(&self, task: Task) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.last() != Some(&task) {
            tasks.push(task);
        }
    }

    /// Moves the woken tasks to the end of `tasks`.
    pub(super) fn take(&self, tasks: &mut Vec<Task>) {
        tasks.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.1.wake(self.0);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.1.wake(self.0);
    }
}
