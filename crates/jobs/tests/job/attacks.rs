//! Attacks by a party whose coordinator and workers may do anything.

use super::*;

fn rng() -> Rng {
    Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test")
}

/// **Retry with another input.** The evaluator has an output, lets its worker die, reports that no stock was
/// taken, and returns with another input. The garbler's own log shows the opposite, so the partition is in
/// doubt. If only the evaluator's user consents to another run, nothing changes
/// (`cli::cluster::workers_may_die`).
#[test]
fn row_16_another_input_gets_no_other_output() {
    workers_die_quietly();
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Scene { denies: Some(1), ..Scene::new(folder.path(), &mut rng(), [1, 2], vec![2, 2, 2]) };
    let [first, _] = coordinate_both(&scene, None).map(Result::unwrap);
    scene.inputs[Party::Evaluator as usize][1].iter_mut().for_each(|y| *y ^= 0xff);
    let [again, _] = coordinate_both(&scene, None).map(Result::unwrap);
    assert_eq!(first.state, again.state);
    assert_eq!(again.state.partitions()[1], PartitionState::InDoubt);
    assert_eq!((again.state.tally().done, again.state.tally().in_doubt), (2, 1));
    check(&scene, &again.job, &again.state);
    assert_eq!(scene.uses(Party::Garbler, &again.job, 1), 1);
}

/// The garbler's only lane runs a partition. The evaluator has the output and reports that no stock was
/// taken; the garbler's store is lost before its log is read.
fn whose_store_is_lost(loss: Loss) -> JobOutcome {
    workers_die_quietly();
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(folder.path(), &mut rng(), [1, 2], vec![2, 2]);
    let [_, _] = coordinate_both_so(&scene, None, true).map(Result::unwrap);
    copy(&scene.store(Party::Garbler, 0), &scene.old());
    let mut scene = Scene { denies: Some(0), loses: Some(loss), ..scene };
    scene.inputs[Party::Evaluator as usize][0].iter_mut().for_each(|y| *y ^= 0xff);
    let [outcome, _] = coordinate_both(&scene, None).map(Result::unwrap);
    assert!(entries(&scene, Party::Garbler).contains(&JobEntry::Claim { partition: 0, lane: 0 }));
    outcome
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => _ = std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap(),
        }
    }
}

/// **A lost store.** Only the store of the lane's last attempt proves that nothing was taken for a partition.
/// An empty store or an older copy proves nothing.
#[test]
fn row_16_a_lost_store_says_nothing() {
    for loss in [Loss::Empty, Loss::Old, Loss::Bare] {
        let outcome = whose_store_is_lost(loss);
        assert_eq!(outcome.state.partitions()[0], PartitionState::InDoubt);
    }
}

/// Each attempt of a job enters a folder once, in order; attempts of other jobs are refused.
#[test]
fn row_16_a_lane_is_entered_by_the_next_attempt_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, terms) = (folder.path().join("lane"), [3; 32]);
    let enter = |job: u8, lane: u32, number: u32, terms: &[u8; 32]| {
        let store = Store::open(&directory, &KEY).unwrap();
        entered::enter(&directory, store, &Attempt { job: [job; 32], lane, number }, terms).map(drop)
    };
    enter(1, 2, 3, &terms).unwrap();
    enter(1, 2, 5, &terms).unwrap();
    for (job, lane, number, terms) in
        [(1, 2, 5, terms), (1, 2, 4, terms), (2, 2, 6, terms), (1, 1, 6, terms), (1, 2, 6, [4; 32])]
    {
        assert!(matches!(enter(job, lane, number, &terms), Err(Error::Stock(_))), "{job} {lane} {number}");
    }
    enter(1, 2, 6, &terms).unwrap();
    std::fs::write(directory.join("attempt"), b"something").unwrap();
    assert!(matches!(enter(1, 2, 7, &terms), Err(Error::Stock(_))));
}

/// **A lost ledger.** If lanes have left files without a ledger, no job begins.
#[test]
fn row_16_a_lost_ledger_is_no_new_job() {
    for party in [Party::Garbler, Party::Evaluator] {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::new(folder.path(), &mut rng(), [1, 1], vec![1]);
        let [first, _] = coordinate_both(&scene, None).map(Result::unwrap);
        std::fs::remove_dir_all(scene.folder(party).join("ledger")).unwrap();
        let results = coordinate_both(&scene, None);
        let mine = &results[party as usize];
        assert!(
            matches!(mine, Err(Error::Stock(why)) if why.contains("whose ledger is missing")),
            "{mine:?}"
        );
        assert!(results.iter().all(Result::is_err));
        assert_eq!(scene.uses(party, &first.job, 0), 1);
    }
}

/// **Old results.** Existing files in the folder of results are not taken for this job's results: the job
/// does not begin.
#[test]
fn row_16_results_of_another_job_are_none_of_this_one() {
    for party in [Party::Garbler, Party::Evaluator] {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::new(folder.path(), &mut rng(), [1, 1], vec![1, 1]);
        std::fs::create_dir_all(scene.folder(party)).unwrap();
        std::fs::write(scene.result(party, 1), b"of last night").unwrap();
        let results = coordinate_both(&scene, None);
        let mine = &results[party as usize];
        assert!(matches!(mine, Err(Error::Usage(why)) if why.contains("partition 1")), "{mine:?}");
        assert!(results.iter().all(Result::is_err));
        std::fs::remove_file(scene.result(party, 1)).unwrap();
        let [done, _] = coordinate_both(&scene, None).map(Result::unwrap);
        check(&scene, &done.job, &done.state);
    }
}

/// **Dying after each challenge.** A party that dislikes a challenge ends its worker, again and again. Each
/// stock that was begun uses a part of the promise, and after the last part none begins.
#[test]
fn row_16_who_dislikes_a_challenge_has_paid_for_it() {
    workers_die_quietly();
    for (party, message) in [(Party::Garbler, 9), (Party::Evaluator, 6)] {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::new(folder.path(), &mut rng(), [1, 2], vec![1, 1]);
        *scene.kills.lock().unwrap() = vec![(party, 0, message); 9];
        for _ in 0..2 {
            let [outcome, _] = coordinate_both(&scene, None).map(Result::unwrap);
            assert_eq!((outcome.state.spent(), outcome.state.shares()), (3, 3));
            assert_eq!((outcome.state.tally().open, outcome.state.bound_log2(40)), (2, -40.0));
            check(&scene, &outcome.job, &outcome.state);
        }
        // Each party's workers died three times while they made stock, and no fourth stock was begun.
        assert_eq!(scene.kills.lock().unwrap().len(), 6, "at the {party:?}'s message {message}");
    }
}

/// Two lanes with stock for two partitions each, without coordinators.
struct Lanes {
    scene: Scene,
    job: JobId,
    stores: [[Store; 2]; 2],
}

impl Lanes {
    fn filled(root: &Path) -> Self {
        let scene = Scene::new(root, &mut rng(), [2, 2], vec![1; 4]);
        let stores = [Party::Garbler, Party::Evaluator].map(|party| {
            [0, 1].map(|lane| {
                std::fs::create_dir_all(scene.folder(party)).unwrap();
                Store::open(&scene.store(party, lane), &KEY).unwrap()
            })
        });
        let lanes = Lanes { scene, job: [9; 32], stores };
        for at in 0..2 {
            let made = lanes.meet([(at, 0); 2], |lane, _| lane.fill(&lanes.scene.program, 2)?.close());
            let [_, _] = made.map(Result::unwrap);
        }
        lanes
    }

    /// Connects workers of these lanes and attempts, and calls a function at each.
    fn meet<T: Send>(
        &self,
        of: [(u32, u32); 2],
        work: impl Fn(ConnectedLane, Party) -> Result<T, Error> + Sync,
    ) -> [Result<T, Error>; 2] {
        let terms = lane::session_terms(&self.scene.terms, Means::default()).unwrap();
        let (left, right) = memory_pair();
        let one = |party: Party, channel| {
            let (lane, number) = of[party as usize];
            let attempt = Attempt { job: self.job, lane, number };
            let store = self.stores[party as usize][lane as usize].clone();
            let directory = self.scene.store(party, lane);
            let place = entered::enter(&directory, store, &attempt, &self.scene.terms.digest())?;
            work(ConnectedLane::open(&attempt, party, channel, &place, &terms, Unobserved)?, party)
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, left));
            let evaluator = one(Party::Evaluator, right);
            [garbler.join().unwrap(), evaluator]
        })
    }

    /// Runs a partition at each party, perhaps different ones. Returns the outputs of both parties.
    fn run(&self, of: [(u32, u32); 2], partitions: [Partition; 2]) -> [Result<Vec<bool>, Error>; 2] {
        self.meet(of, |lane, party| {
            let partition = partitions[party as usize];
            let input = bits(&self.scene.inputs[party as usize][partition as usize]);
            let (done, lane) = lane.run(&self.scene.rows(partition), partition, &input)?;
            lane.close()?;
            Ok(done.outputs)
        })
    }

    /// Returns the entries of all logs.
    fn logs(&self) -> Vec<Vec<LogEntry>> {
        let of = |store: &Store| {
            let epochs = store.epochs().unwrap();
            epochs.iter().map(|(id, _)| store.log(id).unwrap()).collect::<Vec<_>>()
        };
        self.stores.iter().flatten().flat_map(of).collect()
    }
}

/// **Swapped lanes.** If a coordinator connects workers of two lanes or two attempts, the workers do not even
/// compare their stores: nothing is burned, and both lanes continue.
#[test]
fn row_16_swapped_lanes_meet_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let lanes = Lanes::filled(folder.path());
    let before = lanes.logs();
    for of in [[(0, 1), (1, 1)], [(1, 2), (0, 2)], [(0, 3), (0, 4)]] {
        let refused = lanes.run(of, [0, 0]);
        assert!(refused.iter().all(Result::is_err), "{refused:?}");
        assert!(refused.iter().any(|r| matches!(r, Err(Error::Mismatch(_)))), "{refused:?}");
        assert_eq!(lanes.logs(), before, "{of:?}");
    }
    let expected = bits(&lanes.scene.expected(0));
    assert_eq!(lanes.run([(1, 3); 2], [0, 0]).map(Result::unwrap), [expected.clone(), expected]);
}

/// **A replayed partition.** A worker that runs an old partition while its peer runs the next one is refused
/// before any stock is taken. A ledger has no entry that runs a completed partition again.
#[test]
fn row_16_a_replayed_partition_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lanes = Lanes::filled(folder.path());
    let uses = |logs: &[Vec<LogEntry>]| {
        logs.iter().flatten().filter(|entry| matches!(entry, LogEntry::Use { .. })).count()
    };
    let [_, _] = lanes.run([(0, 1); 2], [0, 0]).map(Result::unwrap);
    assert_eq!(uses(&lanes.logs()), 2);
    let refused = lanes.run([(0, 2); 2], [1, 0]);
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    assert!(refused.iter().any(|r| matches!(r, Err(Error::Mismatch(_)))), "{refused:?}");
    assert_eq!(uses(&lanes.logs()), 2);

    let terms = JobTerms { lanes: 1, ..lanes.scene.terms.clone() };
    let mut state = JobState::new(&lanes.job, &terms);
    let done = [
        JobEntry::Fill { lane: 0, attempt: 0, partitions: 4 },
        JobEntry::Filled { lane: 0 },
        JobEntry::Claim { partition: 0, lane: 0 },
        JobEntry::Done { partition: 0 },
    ];
    done.iter().for_each(|entry| state.apply(entry).unwrap());
    let partition = 0;
    for again in [
        JobEntry::Claim { partition, lane: 0 },
        JobEntry::Done { partition },
        JobEntry::Free { partition },
        JobEntry::Doubt { partition },
        JobEntry::Rerun { partition },
    ] {
        assert!(matches!(state.clone().apply(&again), Err(Error::Usage(_))), "{again:?}");
    }
}
