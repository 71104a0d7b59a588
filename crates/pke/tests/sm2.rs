//! SM2 against the examples of GB/T 32918.5 and OpenSSL.

mod evp;

use evp::{Key, hex};
use lookaside_pke::sm2::{self, Form, LEN, POINT_LEN};
use lookaside_pke::{Item, Nonce, OpError, Sm2Role, random};
use lookaside_simd::{Cpu, Tier};

fn one(
    src: &[u8],
    len: usize,
    operation: impl FnOnce(&Cpu, &mut [Item<'_>]),
) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; len];
    let mut items = [Item::new(src, &mut dst)];
    operation(Cpu::host(), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn pair() -> (Vec<u8>, Vec<u8>) {
    let pair = one(&[], LEN + POINT_LEN, sm2::generate).unwrap();
    (pair[..LEN].to_vec(), pair[LEN..].to_vec())
}

fn public(private: &[u8]) -> Result<Vec<u8>, OpError> {
    one(private, POINT_LEN, sm2::public)
}

fn sign(private: &[u8], e: &[u8]) -> Result<Vec<u8>, OpError> {
    one(&[private, e].concat(), 2 * LEN, sm2::sign)
}

fn verify(point: &[u8], signature: &[u8], e: &[u8]) -> Result<(), OpError> {
    one(&[point, signature, e].concat(), 0, sm2::verify).map(drop)
}

fn encrypt(form: Form, point: &[u8], message: &[u8]) -> Result<Vec<u8>, OpError> {
    let len = form.most_len(message.len());
    one(&[point, message].concat(), len, |cpu, items| sm2::encrypt(cpu, form, items))
}

fn decrypt(form: Form, private: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, OpError> {
    let src = [private, ciphertext].concat();
    one(&src, ciphertext.len(), |cpu, items| sm2::decrypt(cpu, form, items))
}

const D: &str = "3945208f7b2144b13f36e38ac6d39f95889393692860b51a42fb81ef4df7c5b8";
const N: &str = "fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123";

/// GB/T 32918.5, A.2.
#[test]
fn example_signature() {
    let point = public(&hex(D)).unwrap();
    let wanted = hex("04 09f9df311e5421a150dd7d161e4bc5c672179fad1833fc076bb08ff356f35020
            ccea490ce26775a52dc6ea718cc1aa600aed05fbf35e084a6632f6072da9ad13");
    assert!(point == wanted);
    let z = sm2::identity_digest(sm2::DEFAULT_ID, &point).unwrap();
    assert!(z[..] == hex("b2e14c5c79c6df5b85f4fe7ed8db7a262b9da7e07ccb0ea9f4747b8ccda8a4f3"));
    let e = sm2::digest(sm2::DEFAULT_ID, &point, b"message digest").unwrap();
    assert!(e[..] == hex("f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640"));
    let signature = hex("f5a03b0648d2c4630eeac513e1bb81a15944da3827d5b74143ac7eaceee720b3
         b1b6aa29df212fd8763182bc0d421ca1bb9038fd1f7f42d4840b69c485bbc1aa");
    assert_eq!(verify(&point, &signature, &e), Ok(()));
}

/// GB/T 32918.5, C.2.
#[test]
fn example_ciphertext() {
    let c1 = "04 04ebfc718e8d1798620432268e77feb6415e2ede0e073c0f4f640ecd2e149a73
                 e858f9d81e5430a57b36daab8f950a3c64e6ee6a63094d99283aff767e124df0";
    let c3 = "59983c18f809e262923c53aec295d30383b54e39d609d160afcb1908d0bd8766";
    let c2 = "21886ca989ca9c7d58087307ca93092d651efa";
    let ciphertext = hex(&[c1, c3, c2].concat());
    let message = decrypt(Form::Raw, &hex(D), &ciphertext).unwrap();
    assert_eq!(message, b"encryption standard");
}

/// GB/T 32918.5, B.2.
#[test]
fn example_exchange() {
    let [d_a, d_b, r_a, r_b] = [
        "81eb26e941bb5af16df116495f90695272ae2cd63d6c4ae1678418be48230029",
        "785129917d45a9ea5437a59356b82338eaaddA6ceb199088f14ae10defa229b5",
        "d4de15474db74d06491c440d305e012400990f3e390c7e87153c12db2ea60bb3",
        "7e07124814b309489125eaed101113164ebf0f3458c5bd88335c1f9d596243d6",
    ]
    .map(hex);
    let [p_a, p_b, e_a, e_b] = [&d_a, &d_b, &r_a, &r_b].map(|private| public(private).unwrap());
    let z_a = sm2::identity_digest(sm2::DEFAULT_ID, &p_a).unwrap();
    let z_b = sm2::identity_digest(sm2::DEFAULT_ID, &p_b).unwrap();
    let wanted = hex("6c89347354de2484c60b4ab1fde4c6e5
         d3a0fe15dee185ceae907a6b595cc32a266ed7b3367e9983a896dc32fa20f8eb
         18c7894b3816df16cf07b05c5ec0bef5d655d58f779cc1b400a4f3884644db88");
    let exchange = |role, parts: [&[u8]; 7]| {
        let (src, mut dst) = (parts.concat(), vec![0xaa; 80]);
        let mut items = [Item::new(&src, &mut dst).with(role)];
        sm2::exchange(&mut items);
        items[0].result.map(|len| dst[..len].to_vec())
    };
    let a = [&d_a[..], &r_a, &e_a, &p_b, &e_b, &z_a, &z_b];
    let b = [&d_b[..], &r_b, &e_b, &p_a, &e_a, &z_b, &z_a];
    assert!(exchange(Sm2Role::Initiator, a).unwrap() == wanted);
    assert!(exchange(Sm2Role::Responder, b).unwrap() == wanted);

    // Another role, another key.
    assert!(exchange(Sm2Role::Responder, a).unwrap() != wanted);
    let mut off = p_b.clone();
    off[64] ^= 1;
    for at in [2, 3, 4] {
        let mut parts = a;
        parts[at] = &off;
        assert!(matches!(exchange(Sm2Role::Initiator, parts), Err(OpError::BadInput(_))), "{at}");
    }
    // P = -h(x) R: the point is infinite whatever our keys are. With R = G, d = -h(x of G).
    let mut one_scalar = [0; LEN];
    one_scalar[LEN - 1] = 1;
    let mut minus = hex(N);
    let half = hex("8fe30bbff2660be1715a4589334c74c7");
    let mut borrow = 0;
    for (at, byte) in minus.iter_mut().enumerate().rev() {
        let taken =
            i32::from(*byte) - borrow - at.checked_sub(16).map_or(0, |at| i32::from(half[at]));
        *byte = taken as u8;
        borrow = i32::from(taken < 0);
    }
    let (p, r) = (public(&minus).unwrap(), public(&one_scalar).unwrap());
    let answer = exchange(Sm2Role::Initiator, [&d_a, &r_a, &e_a, &p, &r, &z_a, &z_b]);
    assert!(matches!(answer, Err(OpError::BadInput(_))), "{answer:?}");
}

#[test]
fn agrees_with_openssl() {
    for id in [sm2::DEFAULT_ID, b"ALICE123@YAHOO.COM", &[b'x'; 300]] {
        let (private, point) = pair();
        assert!(public(&private).unwrap() == point);
        let key = Key::on_curve("SM2", Some(&private), &point).unwrap();
        let e = sm2::digest(id, &point, b"a message").unwrap();
        let signature = sign(&private, &e).unwrap();
        assert!(key.sm2_verify(id, b"a message", &signature));
        assert!(!key.sm2_verify(id, b"another message", &signature));
        assert_eq!(verify(&point, &signature, &e), Ok(()));
        let mut theirs = key.sm2_sign(id, b"a message");
        assert_eq!(verify(&point, &theirs, &e), Ok(()));
        theirs[40] ^= 1;
        assert_eq!(verify(&point, &theirs, &e), Err(OpError::AuthFailed));

        for len in [1, 2, 31, 32, 33, 64, 100, 200, 1000] {
            let mut message = vec![0; len];
            random::fill(&mut message).unwrap();
            let ciphertext = encrypt(Form::Der, &point, &message).unwrap();
            assert!(key.decrypt(&ciphertext).unwrap() == message, "{len}");
            assert!(decrypt(Form::Der, &private, &ciphertext).unwrap() == message, "{len}");
            let theirs = key.encrypt(&message);
            assert!(decrypt(Form::Der, &private, &theirs).unwrap() == message, "{len}");
            let raw = encrypt(Form::Raw, &point, &message).unwrap();
            assert_eq!(raw.len(), len + 97);
            assert!(decrypt(Form::Raw, &private, &raw).unwrap() == message, "{len}");
        }
    }
}

#[test]
fn wrong_ciphertexts_are_refused() {
    let (private, point) = pair();
    let raw = encrypt(Form::Raw, &point, b"a message").unwrap();
    for at in [POINT_LEN, POINT_LEN + LEN, raw.len() - 1] {
        let mut wrong = raw.clone();
        wrong[at] ^= 1;
        assert_eq!(decrypt(Form::Raw, &private, &wrong), Err(OpError::AuthFailed), "{at}");
    }
    let mut wrong = raw.clone();
    wrong[POINT_LEN - 1] ^= 1;
    assert!(matches!(decrypt(Form::Raw, &private, &wrong), Err(OpError::BadInput(_))));
    for len in 0..=POINT_LEN + LEN {
        assert!(decrypt(Form::Raw, &private, &raw[..len]).is_err(), "{len}");
    }
    let der = encrypt(Form::Der, &point, b"a message").unwrap();
    for len in 0..der.len() {
        let answer = decrypt(Form::Der, &private, &der[..len]);
        assert!(matches!(answer, Err(OpError::BadInput(_))), "{len}");
    }
    assert!(matches!(encrypt(Form::Der, &point, &[]), Err(OpError::BadInput(_))));
    let mut dst = vec![0; 8];
    let src = [&private[..], &raw].concat();
    let mut items = [Item::new(&src, &mut dst)];
    sm2::decrypt(Cpu::host(), Form::Raw, &mut items);
    assert_eq!(items[0].result, Err(OpError::DstTooSmall));
}

/// Room for the longest ciphertext is enough for each, a byte less for none, though most would fit.
#[test]
fn room_for_a_ciphertext_does_not_hang_on_chance() {
    let (_, point) = pair();
    let mut seen = [false; 8];
    for form in [Form::Raw, Form::Der] {
        for message in [&[7][..], &[7; 40], &[7; 200]] {
            let src = [&point[..], message].concat();
            let most = form.most_len(message.len());
            for _ in 0..32 {
                let enough = one(&src, most, |cpu, items| sm2::encrypt(cpu, form, items)).unwrap();
                seen[most - enough.len()] = true;
                let short = one(&src, most - 1, |cpu, items| sm2::encrypt(cpu, form, items));
                assert_eq!(short, Err(OpError::DstTooSmall));
            }
        }
    }
    assert!(seen[..3] == [true; 3], "{seen:?}");
}

#[test]
fn keys_and_scalars_have_their_range() {
    let n = hex(N);
    let minus = |by: u8| {
        let mut scalar = n.clone();
        scalar[LEN - 1] -= by;
        scalar
    };
    let (_, point) = pair();
    for bad in [vec![0; LEN], minus(1), minus(0), vec![0xff; LEN]] {
        assert!(matches!(public(&bad), Err(OpError::BadInput(_))));
        assert!(matches!(sign(&bad, &[1; 32]), Err(OpError::BadInput(_))));
    }
    let last = minus(2);
    let signature = sign(&last, &[1; 32]).unwrap();
    let last_point = public(&last).unwrap();
    assert_eq!(verify(&last_point, &signature, &[1; 32]), Ok(()));
    for bad in [vec![0; LEN], minus(0), vec![0xff; LEN]] {
        let wrong = [&bad[..], &signature[LEN..]].concat();
        assert_eq!(verify(&last_point, &wrong, &[1; 32]), Err(OpError::AuthFailed));
        let wrong = [&signature[..LEN], &bad[..]].concat();
        assert_eq!(verify(&last_point, &wrong, &[1; 32]), Err(OpError::AuthFailed));
        let multiple = one(&[&bad[..], &point].concat(), POINT_LEN, sm2::multiply);
        assert!(matches!(multiple, Err(OpError::BadInput(_))));
    }
    // r + s = n.
    let mut wrong = signature.clone();
    wrong[..LEN].fill(0);
    wrong[LEN - 1] = 5;
    wrong[LEN..].copy_from_slice(&minus(5));
    assert_eq!(verify(&last_point, &wrong, &[1; 32]), Err(OpError::AuthFailed));
    // Two keys, one secret.
    let ((a, p_a), (b, p_b)) = (pair(), pair());
    let multiple = |scalar: &[u8], point: &[u8]| {
        one(&[scalar, point].concat(), POINT_LEN, sm2::multiply).unwrap()
    };
    assert!(multiple(&a, &p_b) == multiple(&b, &p_a));
    assert!(matches!(sm2::identity_digest(&[0; 8192], &point), Err(OpError::BadInput(_))));
}

/// GB/T 32918.5, A.2: with its k.
#[test]
fn example_signature_by_its_nonce() {
    let e = hex("f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640");
    let k = hex("59276e27d506861a16680f3ad9c02dccef3cc1fa3cdbe4ce6d54b80deac1bc21");
    let wanted = hex("f5a03b0648d2c4630eeac513e1bb81a15944da3827d5b74143ac7eaceee720b3
            b1b6aa29df212fd8763182bc0d421ca1bb9038fd1f7f42d4840b69c485bbc1aa");
    for cpu in [Cpu::host(), &Cpu::with_cap(Tier::Generic)] {
        let sign = |rest: &[u8]| {
            let src = [&hex(D)[..], rest].concat();
            let mut dst = vec![0; 2 * LEN];
            let mut items = [Item::new(&src, &mut dst)];
            sm2::sign_with(cpu, Nonce::Given, &mut items);
            items[0].result.map(|_| dst)
        };
        assert!(sign(&[&k[..], &e].concat()).unwrap() == wanted);
        for bad in [[&[0; LEN][..], &e].concat(), [&hex(N)[..], &e].concat(), k.clone()] {
            assert!(matches!(sign(&bad), Err(OpError::BadInput(_))));
        }
    }
}
