import { expect, it } from 'vitest'
import { withOptionNames } from './option-names.js'

const names = {
  app_secret: '--secret-file',
  certificate: '--certificate-file',
  channel: '--channel',
  templates: '--templates-file',
}

it.each([
  ['app_secret is missing', '--secret-file is missing'],
  [
    'invalid request parameter: certificate is missing; app_secret is missing',
    'invalid request parameter: --certificate-file is missing; --secret-file is missing',
  ],
  [
    'certificate cannot be opened; is app_secret its passphrase?',
    '--certificate-file cannot be opened; is --secret-file its passphrase?',
  ],
  [
    'channel must be vendor_h; remove the certificate first',
    '--channel must be vendor_h; remove the certificate first',
  ],
  [
    'app_secret, certificate, channel: exactly one must be given',
    '--secret-file, --certificate-file, --channel: exactly one must be given',
  ],
  ['templates[0].app_secret is unknown', '--templates-file[0].app_secret is unknown'],
  ['channel does not exist', 'channel does not exist'],
  ['hermod_app_secret and constructor stay', 'hermod_app_secret and constructor stay'],
])('names of fields become options: %s', (message, words) => {
  expect(withOptionNames(message, names)).toBe(words)
})
