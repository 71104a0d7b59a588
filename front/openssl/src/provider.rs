//! One loaded provider: settings, runtimes, and the sessions that all keys share.

use core::ffi::CStr;
use std::{
    collections::HashMap,
    hash::Hash as StdHash,
    sync::{Arc, Mutex, PoisonError},
};

use lookaside::{
    Auth, Curve, Dh, DigestSession, Ec, EdCurve, Eddsa, Hash, Hkdf, NoFork, Runtime, SetupError,
    Sm2, TlsPrf, Xdh, XdhCurve,
};
use once_cell::race::OnceBox;

use crate::{
    algorithms::Offer, entry::Core, error::Result, hash::list, lane::Lanes, settings::Settings,
    statistics::Tallies,
};

/// Sessions by what they are for, made at first use.
struct Sessions<K, S>(Mutex<HashMap<K, S>>);

impl<K: Eq + StdHash, S: Clone> Sessions<K, S> {
    fn new() -> Self {
        Sessions(Mutex::new(HashMap::new()))
    }

    fn find(&self, key: K, make: impl FnOnce() -> Result<S>) -> Result<S> {
        // A child of a fork would find it locked.
        let _no_fork = NoFork::begin();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&key) {
            return Ok(session.clone());
        }
        let session = make()?;
        sessions.insert(key, session.clone());
        Ok(session)
    }
}

/// One loaded provider. Everything made by it keeps it alive.
pub struct Provider {
    /// The library that loaded it.
    pub core: Core,
    /// What openssl.cnf says.
    pub settings: Settings,
    /// What is offered, for queries.
    pub offer: Offer,
    /// Where requests are executed.
    pub lanes: Lanes,
    /// Who was served.
    pub tallies: Arc<Tallies>,
    dh: Sessions<&'static CStr, Dh>,
    ec: Sessions<Curve, Ec>,
    xdh: Sessions<XdhCurve, Xdh>,
    eddsa: Sessions<EdCurve, Eddsa>,
    sm2: OnceBox<Sm2>,
    tls_prf: Sessions<Hash, TlsPrf>,
    hkdf: Sessions<Hash, Hkdf>,
    digests: [OnceBox<DigestSession>; list::SPECS.len()],
}

impl Provider {
    /// Starts the runtimes.
    pub fn new(core: Core, settings: Settings) -> Result<Arc<Provider>> {
        let tallies = Arc::new(Tallies::default());
        let lanes = Lanes::start(&settings, &tallies)?;
        Ok(Arc::new(Provider {
            offer: Offer::new(&settings),
            lanes,
            core,
            settings,
            tallies,
            dh: Sessions::new(),
            ec: Sessions::new(),
            xdh: Sessions::new(),
            eddsa: Sessions::new(),
            sm2: OnceBox::new(),
            tls_prf: Sessions::new(),
            hkdf: Sessions::new(),
            digests: [const { OnceBox::new() }; list::SPECS.len()],
        }))
    }

    /// Makes a session.
    pub fn prepare<S>(
        &self,
        make: impl FnOnce(&Runtime) -> core::result::Result<S, SetupError>,
    ) -> Result<S> {
        self.lanes.prepare(make)
    }

    /// The session of a Diffie-Hellman group with a name.
    pub fn dh(&self, name: &'static CStr, make: impl FnOnce() -> Result<Dh>) -> Result<Dh> {
        self.dh.find(name, make)
    }

    /// The session of a named curve.
    pub fn ec(&self, curve: Curve) -> Result<Ec> {
        self.ec.find(curve, || self.prepare(|runtime| runtime.ec(curve)))
    }

    /// The session of X25519 or X448.
    pub fn xdh(&self, curve: XdhCurve) -> Result<Xdh> {
        self.xdh.find(curve, || self.prepare(|runtime| runtime.xdh(curve)))
    }

    /// The session of Ed25519 or Ed448.
    pub fn eddsa(&self, curve: EdCurve) -> Result<Eddsa> {
        self.eddsa.find(curve, || self.prepare(|runtime| runtime.eddsa(curve)))
    }

    /// The session of a digest.
    #[inline]
    pub fn digest(&self, spec: &list::Spec) -> Result<&DigestSession> {
        self.digests[spec.index].get_or_try_init(|| {
            let plain = Auth::Plain(spec.hash);
            self.prepare(|runtime| runtime.digest(plain, &[], spec.len)).map(Box::new)
        })
    }

    /// The session of SM2.
    pub fn sm2(&self) -> Result<Sm2> {
        self.sm2.get_or_try_init(|| self.prepare(Runtime::sm2).map(Box::new)).cloned()
    }

    /// The session of the TLS PRF with one hash.
    pub fn tls_prf(&self, hash: Hash) -> Result<TlsPrf> {
        self.tls_prf.find(hash, || self.prepare(|runtime| runtime.tls_prf(hash)))
    }

    /// The session of HKDF with one hash.
    pub fn hkdf(&self, hash: Hash) -> Result<Hkdf> {
        self.hkdf.find(hash, || self.prepare(|runtime| runtime.hkdf(hash)))
    }
}
