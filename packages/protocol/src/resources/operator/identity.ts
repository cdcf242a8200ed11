import {
  assertionAlgorithms,
  issuerCreations,
  issuerKeySources,
  issuerSessions,
} from '../../enums.js'
import { instant, resource } from '../../resource.js'
import {
  array,
  boolean,
  freeObject,
  int32,
  int64,
  object,
  type Static,
  stringEnum,
  text,
} from '../../schema.js'

/** An issuer without its secrets. */
export const IdentityIssuer = resource(
  'IdentityIssuer',
  'A system whose assertions are exchanged for tokens.',
  {
    issuer: text('name: the exact value of iss'),
    source: stringEnum(issuerKeySources, {
      description: 'source of the keys; keys that were given in PEM are a JWK set',
    }),
    url: text('address of the discovery document or of the keys; "": none'),
    jwks: freeObject({ description: 'keys that were given, as a JWK set; {}: none' }),
    has_previous_secret: boolean({ description: 'a previous secret is accepted too' }),
    algorithms: array(stringEnum(['HS256', ...assertionAlgorithms]), {
      description: 'accepted algorithms',
    }),
    types: array(text('value of typ'), { description: 'accepted values of typ; []: JWT, or none' }),
    audience: array(text('value of aud'), {
      description: 'accepted values of aud; []: not checked',
    }),
    max_age: int32({ description: 'age of an assertion in seconds, at most' }),
    subject_claim: text('claim with the ID of the user'),
    create: stringEnum(issuerCreations, { description: 'when an assertion makes a user' }),
    username_claim: text('claim with the username of a new user; "": none'),
    profile_claims: object(
      { nick_name: text('claim; "": none'), avatar: text('claim; "": none') },
      { description: 'claims that are written to the profile' },
    ),
    session: stringEnum(issuerSessions, { description: 'life of the tokens' }),
    created_at: instant('when it was made'),
    updated_at: instant('when it was changed last'),
  },
)
/** An issuer without its secrets. */
export type IdentityIssuer = Static<typeof IdentityIssuer>

/** The effect that the exchange of an assertion would have. */
export const IdentityTest = resource(
  'IdentityTest',
  'The effect that an exchange of the assertion would have.',
  {
    ok: boolean({ description: 'true: it would give a token' }),
    reason: text('stable word of the check that fails, as in log and metric; "": none'),
    text: text('the check that fails, or what the exchange would do'),
    issuer: text('issuer; "": the assertion names none of the application'),
    subject: text('subject; "": the assertion is refused'),
    user_id: int64({ description: 'user of the subject; 0: none yet' }),
    created: boolean({ description: 'true: the exchange would make the user' }),
    username: text('username that a new user would get if it is free; "": a generated one'),
    email: text('e-mail address that a new user would get if it is free; "": none'),
    nick_name: text('nickname that would be written; "": none'),
    avatar: text('avatar that would be written; "": none'),
    expire: instant('when the token would end; 0: there is none'),
  },
)
/** The effect that the exchange of an assertion would have. */
export type IdentityTest = Static<typeof IdentityTest>
