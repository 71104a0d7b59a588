//! Packets side by side against the same packets one at a time: every kind of session, mixed, in
//! both directions, in place and apart, some of them damaged or malformed.

mod lanes_common;

use lanes_common::{Case, Cases, Random, candidates, check, sessions};
use lookaside_cipher::choice::By;
use lookaside_cipher::{Auth, Cipher, Engine, Session, Sym};
use lookaside_simd::{Cpu, Tier};

/// Runs the cases in batches of random lengths.
fn run(cpu: &Cpu, sessions: &[Session], cases: &mut [Case], random: &mut Random) {
    let mut engine = Engine::new(cpu);
    let mut rest = cases;
    while !rest.is_empty() {
        let count = rest.len().min(1 + random.below(40));
        let (batch, after) = rest.split_at_mut(count);
        check(&mut engine, sessions, batch);
        rest = after;
    }
}

#[test]
fn each_session_alone() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let sessions = sessions(&cpu);
        assert!(sessions.len() > 100);
        let mut random = Random(tier as u64);
        for which in 0..sessions.len() {
            let mut cases = Cases::new(&sessions, &mut random).of(which, 40);
            run(&cpu, &sessions, &mut cases, &mut random);
        }
    }
}

/// Whatever the tables say today: each candidate with texts of all lengths, alone, in fours and in
/// larger batches, mixed with others.
#[test]
fn each_candidate_alone_and_mixed() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for by in By::ALL {
            let sessions = candidates(&cpu, by);
            let served = sessions.len();
            let least = match by {
                By::Single => 100,
                By::Own => 8,
                By::IpsecMb => 0,
            };
            assert!(served >= least, "{tier}: {served} of {by:?}");
            let mut random = Random(200 + tier as u64);
            let mut engine = Engine::new(&cpu);
            for which in 0..served {
                let mut cases = Cases::new(&sessions, &mut random).of(which, 24);
                for batch in cases.chunks_mut(4) {
                    check(&mut engine, &sessions, batch);
                }
            }
            if served > 0 {
                let mut cases = Cases::new(&sessions, &mut random).mixed(1500);
                run(&cpu, &sessions, &mut cases, &mut random);
            }
        }
    }
}

/// Texts that are equally long, which some kernels have a quicker way for.
#[test]
fn texts_alike() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for by in [By::Own, By::IpsecMb] {
            let sessions = candidates(&cpu, by);
            let mut random = Random(60 + tier as u64);
            let mut engine = Engine::new(&cpu);
            for which in 0..sessions.len() {
                for len in [64, 257] {
                    let mut cases = Cases::new(&sessions, &mut random).alike(which, 19, len);
                    check(&mut engine, &sessions, &mut cases);
                }
            }
            // Longer than its function for eight takes, the cipher gives other bytes.
            for which in 0..sessions.len() {
                if let Sym::Cipher { cipher: Cipher::ZucEea3 | Cipher::Snow3gUea2, .. }
                | Sym::Auth { auth: Auth::ZucEia3, .. } = sessions[which].spec()
                {
                    for len in [8160, 16384] {
                        let mut cases = Cases::new(&sessions, &mut random).alike(which, 9, len);
                        check(&mut engine, &sessions, &mut cases);
                    }
                }
            }
        }
    }
}

#[test]
fn sessions_mixed() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let sessions = sessions(&cpu);
        let mut random = Random(100 + tier as u64);
        let mut cases = Cases::new(&sessions, &mut random).mixed(4000);
        run(&cpu, &sessions, &mut cases, &mut random);
    }
}

#[test]
fn more_packets_than_are_taken_at_once() {
    let cpu = Cpu::host();
    let sessions = sessions(cpu);
    let mut random = Random(7);
    let mut cases = Cases::new(&sessions, &mut random).mixed(700);
    check(&mut Engine::new(cpu), &sessions, &mut cases);
}

#[test]
fn long_packets() {
    let cpu = Cpu::host();
    let sessions = sessions(cpu);
    let mut random = Random(8);
    for which in 0..sessions.len() {
        let mut cases = Cases::new(&sessions, &mut random).long(which, 1, which % 2 == 1);
        check(&mut Engine::new(cpu), &sessions, &mut cases);
    }
}

/// intel-ipsec-mb's lanes count in 16 bits, and some of them fail before: at each tier, all that it
/// can serve.
#[test]
fn long_packets_of_the_library() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let sessions = candidates(&cpu, By::IpsecMb);
        let mut random = Random(80 + tier as u64);
        let mut engine = Engine::new(&cpu);
        for (which, session) in sessions.iter().enumerate() {
            // What it is compared with takes seconds for DES; the limits of its chains are its own.
            let count = match session.spec() {
                Sym::Cipher { cipher: Cipher::DesCbc | Cipher::TripleDesCbc, .. } => 3,
                Sym::Chain { cipher: Cipher::DesCbc | Cipher::TripleDesCbc, .. } => continue,
                _ if !session.side_by_side() => 2,
                _ => 4,
            };
            let mut cases = Cases::new(&sessions, &mut random).long(which, count, which % 2 == 1);
            // Two lengths at once: the lanes may take one of them alone.
            for batch in cases.chunks_mut(2 * count) {
                check(&mut engine, &sessions, batch);
            }
        }
    }
}

#[test]
fn an_engine_of_a_lower_tier_serves_any_session() {
    let sessions = sessions(Cpu::host());
    let mut random = Random(9);
    let mut cases = Cases::new(&sessions, &mut random).mixed(500);
    run(&Cpu::with_cap(Tier::Generic), &sessions, &mut cases, &mut random);
}

#[test]
fn one_packet_as_in_a_batch() {
    let cpu = Cpu::host();
    let sessions = sessions(cpu);
    let mut random = Random(10);
    let mut cases = Cases::new(&sessions, &mut random).mixed(1000);
    let mut engine = Engine::new(cpu);
    for case in &mut cases {
        case.check_one(&mut engine, &sessions);
    }
}

#[test]
fn an_engine_goes_to_another_thread() {
    let sessions = sessions(Cpu::host());
    let mut random = Random(11);
    let mut engine = Engine::new(Cpu::host());
    let mut first = Cases::new(&sessions, &mut random).mixed(100);
    let mut second = Cases::new(&sessions, &mut random).mixed(100);
    check(&mut engine, &sessions, &mut first);
    std::thread::scope(|scope| {
        scope.spawn(|| check(&mut engine, &sessions, &mut second));
    });
}

#[test]
fn sessions_say_what_serves_them() {
    for session in sessions(Cpu::host()) {
        assert!(!session.served_by().is_empty());
        assert_eq!(session.best_batch() > 1, session.side_by_side(), "{}", session.served_by());
    }
}
