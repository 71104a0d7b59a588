//! X25519 and X448.

use std::sync::Arc;

use lookaside::Buf;

use crate::{
    dispatch::exchange::Exchange,
    error::{Reason, Result},
    key::xdh::XdhKey,
    provider::Provider,
};

/// An exchange in progress.
#[derive(Clone)]
pub struct XdhExchange {
    key: Option<Arc<XdhKey>>,
    peer: Option<Arc<XdhKey>>,
}

impl Exchange for XdhExchange {
    type Key = XdhKey;

    fn new() -> XdhExchange {
        XdhExchange { key: None, peer: None }
    }

    fn start(&mut self, key: Arc<XdhKey>) -> Result<()> {
        key.private()?;
        *self = XdhExchange { key: Some(key), peer: None };
        Ok(())
    }

    fn peer(&mut self, _provider: &Provider, key: Arc<XdhKey>) -> Result<()> {
        key.public()?;
        if self.key.as_ref().is_none_or(|ours| ours.curve() != key.curve()) {
            return Err(Reason::DifferentParameters.into());
        }
        self.peer = Some(key);
        Ok(())
    }

    fn len(&self) -> Result<usize> {
        Ok(self.key.as_ref().ok_or(Reason::NotInitialised)?.curve().key_len())
    }

    fn derive(&mut self, provider: &Provider, _room: usize) -> Result<Vec<u8>> {
        let (Some(key), Some(peer)) = (&self.key, &self.peer) else {
            return Err(Reason::NotInitialised.into());
        };
        let src = Buf::secret([key.private()?, peer.public()?].concat());
        let dst = Buf::secret(vec![0; key.curve().key_len()]);
        let request = provider.xdh(key.curve())?.derive(src, dst);
        Ok(provider.lanes.run(request)?.to_vec())
    }
}
