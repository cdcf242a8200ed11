/** Reasons for which assertions are refused, with the sentence for operators. Words are stable. */
export const refusalTexts = {
  too_large: 'it has more than 8192 bytes',
  not_a_jws: 'it must have three parts of base64url without padding, separated by full stops',
  invalid_json:
    'header and payload must be JSON objects in UTF-8 of at most 8 levels, without a name twice and lone surrogates',
  wrong_type: 'typ in the header must be absent or JWT, or one of the types that are set',
  critical_header: 'crit and b64 in the header are refused',
  invalid_kid: 'kid in the header must be a text of 1 to 255 bytes without control characters',
  unknown_issuer: 'iss must be the exact text of an issuer of the application',
  wrong_algorithm: 'alg in the header must be one of the algorithms of the issuer',
  logout_token: 'a payload with events is a logout token',
  invalid_time: 'exp and iat, and nbf if present, must be whole numbers of seconds since 1970',
  expired: 'exp is in the past',
  issued_in_future: 'iat is in the future',
  not_yet_valid: 'nbf is in the future',
  too_old: 'iat is older than the max_age of the issuer',
  wrong_audience: 'aud must hold an audience of the issuer',
  wrong_party: 'azp must be an audience of the issuer when aud has several entries',
  invalid_subject:
    'the subject must be a text of 1 to 255 bytes without control characters, or an integer from 0 to 2^53 - 1',
  no_keys: 'the keys of the issuer are not available',
  unknown_key: 'no key of the issuer has this kid, or fits alg by its type, use, key_ops and alg',
  ambiguous_key: 'more than one key of the issuer fits',
  unusable_key:
    'the key that fits cannot be used: RSA keys need 2048 bits and an odd exponent from 3, and keys must be public and valid',
  wrong_signature: 'the signature was not made by the key of the issuer',
  wrong_user: 'the subject is not linked to the user of the call',
  revoked: 'iat is at or before the last revocation of the logins of the user',
} as const

/** A stable word for the check that an assertion failed. */
export type Refusal = keyof typeof refusalTexts
