import { keySources } from '../../enums.js'
import { resource } from '../../resource.js'
import { int32, type Static, stringEnum, text } from '../../schema.js'

/**
 * Data of /operator/v1/secret/rotate and retire. Key IDs are fingerprints; no key is ever shown.
 */
export const SecretKeyRotation = resource(
  'SecretKeyRotation',
  'The secret keys after a rotation or a retirement.',
  {
    key_id: text('key that secrets are encrypted with'),
    previous_key_id: text('key that is still accepted; "": none'),
    key_source: stringEnum(keySources, {
      description: 'file: secret.key in the data folder; settings: HERMOD_SECRET_KEY',
    }),
    resealed: int32({ description: 'number of secrets that were encrypted again' }),
    unreadable: int32({
      description: 'number of secrets that no key opens; they stay as they are',
    }),
  },
)
/** The secret keys after a rotation or a retirement. */
export type SecretKeyRotation = Static<typeof SecretKeyRotation>
