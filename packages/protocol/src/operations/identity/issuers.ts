import { assertionAlgorithms, issuerCreations, issuerSessions } from '../../enums.js'
import { operation } from '../../operation.js'
import { IdentityIssuer, IdentityTest } from '../../resources/operator/identity.js'
import {
  array,
  freeObject,
  int32,
  list,
  object,
  optional,
  string,
  stringEnum,
} from '../../schema.js'
import { appId, done, get, operatorOperation, post } from '../fields.js'
import { assertion, identity } from './fields.js'
import { issuerFaults } from './issuer-faults.js'

const maxKeysLength = 65_536
const whichIssuer = { app_id: appId, issuer: identity.issuer }

const address = (description: string) =>
  optional(
    string({
      description,
      maxLength: 1024,
      pattern: '^https://[!-~]+$',
      form: 'an https address',
      examples: ['https://issuer.example/jwks.json'],
    }),
  )
const claimName = (description: string) =>
  optional(string({ description: `${description}; "": none`, maxLength: 64 }))
const secret = (description: string) =>
  optional(string({ description: `${description}: 32 bytes or more`, maxLength: 1024 }))

/**
 * The settings are given as a whole, with exactly one source of keys. Keys that were fetched from
 * the same address before stay. Rule C10.
 */
export const setIdentityIssuer = operation({
  ...operatorOperation,
  id: 'operator.identity.set',
  methods: post,
  path: '/operator/v1/identity/set',
  summary: 'Makes an issuer of assertions, or replaces the settings of the one of that name.',
  description:
    'Omitted fields are cleared. Give exactly one source of keys: discovery, jwks_url, jwks, pem or hmac_secret. Other nodes follow within 1 s.',
  body: {
    ...whichIssuer,
    discovery: address(
      'address of the discovery document (OpenID Connect), whose issuer must be this one',
    ),
    jwks_url: address('address of the public keys as a JWK set'),
    jwks: optional(freeObject({ description: 'public keys as a JWK set, at most 20' })),
    pem: optional(
      string({
        description: 'public keys or certificates in PEM, at most 20',
        maxLength: maxKeysLength,
      }),
    ),
    hmac_secret: secret('secret that your own backend signs with (HS256); its bytes in UTF-8'),
    previous_hmac_secret: secret('secret that is accepted too, while it is changed'),
    algorithms: optional(
      list(stringEnum(assertionAlgorithms), {
        description: 'accepted algorithms of key pairs; default: all four',
        minItems: 1,
        maxItems: 4,
      }),
    ),
    types: optional(
      list(string({ minLength: 1, maxLength: 64 }), {
        description: 'accepted values of typ in the header; []: JWT, or no typ',
        maxItems: 10,
      }),
    ),
    audience: optional(
      list(string({ minLength: 1, maxLength: 255 }), {
        description:
          'accepted values of aud, 1 to 10; with hmac_secret it may be left out, and aud is not checked',
        maxItems: 10,
      }),
    ),
    max_age: optional(
      int32({
        description: 'age of an assertion by iat, in seconds, at most',
        minimum: 1,
        maximum: 86_400,
        default: 600,
      }),
    ),
    subject_claim: optional(
      string({
        description: 'claim with the ID of the user',
        minLength: 1,
        maxLength: 64,
        default: 'sub',
      }),
    ),
    create: optional(
      stringEnum(issuerCreations, {
        description:
          'first_login: a subject without a user gets one; never (default): it is refused',
      }),
    ),
    username_claim: claimName(
      'claim with the username of a new user, used when it is free and valid',
    ),
    profile_claims: optional(
      object(
        {
          nick_name: claimName('claim with the nickname'),
          avatar: claimName('claim with the avatar'),
        },
        { description: 'claims that are written to the profile at each exchange' },
      ),
    ),
    session: optional(
      stringEnum(issuerSessions, {
        description:
          'follow: tokens end with the assertion; own (default): they live 24 hours. Never longer than tokens of logins',
      }),
    ),
  },
  data: IdentityIssuer,
  violationsOf: issuerFaults,
  errors: ['app_not_found', 'issuer_limit_reached'],
})

/** By name. Secrets are not shown. */
export const listIdentityIssuers = operation({
  ...operatorOperation,
  id: 'operator.identity.list',
  methods: get,
  path: '/operator/v1/identity/list',
  summary: 'Lists the issuers of an application, without their secrets.',
  description: 'By name; an application has at most 10, and the answer is always the whole list.',
  query: { app_id: appId },
  data: array(IdentityIssuer),
  errors: ['app_not_found'],
})

/** Identities of the issuer stay, and serve again when an issuer of that name is set. */
export const removeIdentityIssuer = operation({
  ...operatorOperation,
  id: 'operator.identity.remove',
  methods: post,
  path: '/operator/v1/identity/remove',
  summary: 'Removes an issuer: its assertions are refused; identities and tokens stay.',
  body: whichIssuer,
  data: done,
  errors: ['app_not_found', 'issuer_not_found'],
})

/** Settings and identities move in one commit. */
export const renameIdentityIssuer = operation({
  ...operatorOperation,
  id: 'operator.identity.rename',
  methods: post,
  path: '/operator/v1/identity/rename',
  summary: 'Gives an issuer another name, with all identities.',
  description:
    'It also renames an issuer that has identities and no settings, such as that of a backend.',
  body: { ...whichIssuer, new_issuer: identity.issuer },
  data: done,
  errors: ['app_not_found', 'issuer_not_found', 'issuer_exists'],
})

/** Keys may be fetched for it, as for an exchange. No metric and no log line counts it. */
export const testAssertion = operation({
  ...operatorOperation,
  id: 'operator.identity.test',
  methods: post,
  path: '/operator/v1/identity/test',
  summary: 'Checks an assertion and says which check it fails; stores nothing.',
  body: { app_id: appId, assertion },
  data: IdentityTest,
  errors: ['app_not_found'],
})
