import { operation } from '../operation.js'
import { SecretKeyRotation } from '../resources/operator/secrets.js'
import { operatorOperation, post } from './fields.js'

/** All secrets or none: the next call finishes an interrupted rotation. */
export const rotateSecretKey = operation({
  ...operatorOperation,
  id: 'operator.secret.rotate',
  methods: post,
  path: '/operator/v1/secret/rotate',
  summary: 'Encrypts every stored secret with a new key.',
  description:
    'With the key in the data folder a new one is made, unless a rotation has been begun already, which is then finished. With keys in the ' +
    'settings the new one is HERMOD_SECRET_KEY, the previous one HERMOD_SECRET_KEY_OLD. The previous key stays accepted. Safe to repeat.',
  data: SecretKeyRotation,
  errors: ['other_nodes_live'],
})

/** Everything signed with the retired key is refused from then on. */
export const retireSecretKey = operation({
  ...operatorOperation,
  id: 'operator.secret.retire',
  methods: post,
  path: '/operator/v1/secret/retire',
  summary: 'Ends the previous secret key of the data folder.',
  description:
    'Secrets that still need it are encrypted again first; when one cannot be opened the key stays. It ends group QR codes, file ' +
    'credentials and upload tickets that were made with the key; addresses of files go on working. Safe to repeat.',
  data: SecretKeyRotation,
})
