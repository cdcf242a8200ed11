import { retireSecretKey, rotateSecretKey, type SecretKeyRotation } from '@hermod/protocol'
import type { Command } from 'commander'
import { options as settings } from '../config/options.js'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, type CommonOptions, operatingCommand } from './runtime/command.js'
import { operationCommand } from './runtime/fields.js'
import { record } from './runtime/output.js'

const { secretKey: key, secretKeyOld: oldKey } = settings

export function addSecretCommands(program: Command, context: CommandContext): void {
  const secret = program.command('secret').description('Changes the key that encrypts secrets.')

  operatingCommand(
    secret,
    'rotate',
    'Encrypts every stored secret with a new key; the previous one stays accepted. Safe to repeat.',
  ).action(async (options: CommonOptions) => {
    const report = await context.operate(rotateSecretKey, {}, options)
    if (report.previous_key_id === '') throw new CommandFailure(howToChangeSettings)
    context.printer(options).print(report, () => `${record(report)}\n\n${afterRotation(report)}`)
    requireReadable(report)
  })

  operationCommand(secret, context, {
    name: 'retire',
    description:
      'Ends the previous key, and the QR codes, file credentials and upload tickets made with it.',
    operation: retireSecretKey,
    fields: {},
    text: (report) => `${record(report)}\n\n${afterRetirement(report)}`,
    requireSuccess: requireReadable,
  })
}

const howToChangeSettings =
  `the key comes from ${key.name}: set ${key.name} to a new key and ${oldKey.name} to the present one, ` +
  'restart every node, and run hermod secret rotate again'

const signedThings = 'QR codes, file credentials and upload tickets'
const removeOldKey = `Remove ${oldKey.name} from the settings of every node when ${signedThings} made with it need not work any more.`

function afterRotation({ key_source }: SecretKeyRotation): string {
  return key_source === 'settings'
    ? removeOldKey
    : `Make a backup of secret.key now. ${signedThings} made with the previous key work until hermod secret retire ends it.`
}

function afterRetirement({ key_source, previous_key_id }: SecretKeyRotation): string {
  if (previous_key_id === '') return 'There is one key, and everything is encrypted with it.'
  return key_source === 'settings' ? removeOldKey : 'The previous key is kept.'
}

function requireReadable({ unreadable }: SecretKeyRotation): void {
  if (unreadable > 0)
    throw new CommandFailure(
      `${unreadable} stored secrets cannot be opened; hermod check names them; set them again`,
    )
}
