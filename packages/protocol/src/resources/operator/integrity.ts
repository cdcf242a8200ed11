import { resource } from '../../resource.js'
import { array, boolean, int64, type Static, text } from '../../schema.js'
import { ServiceStatus } from './service-state.js'

/** A stored value that the log does not confirm, named so that an operator finds the row. */
export const CheckFault = resource(
  'CheckFault',
  'A derived value that does not agree with the log.',
  {
    check: text('which check found it'),
    app_id: text('application concerned'),
    subject: text('what is wrong'),
    detail: text('what was found and what was expected'),
  },
)
/** One difference. */
export type CheckFault = Static<typeof CheckFault>

/** Data of /operator/v1/check; empty `faults` means that everything agrees. */
export const CheckReport = resource('CheckReport', 'The result of an integrity check.', {
  checked: int64({ description: 'number of values that were checked' }),
  faults: array(CheckFault, { description: 'the values that do not agree' }),
  truncated: boolean({ description: 'true: there are more than listed' }),
  service: ServiceStatus,
})
/** The outcome of a check, by application and subject. */
export type CheckReport = Static<typeof CheckReport>

/** Checks whose faults leave the data sound, and what to do about these. */
export const upkeepChecks: Readonly<Record<string, string>> = {
  node_connections: 'raise the limit of connections, or lower the pools',
  node_settings: 'give all nodes the same settings',
  lost_history: 'inform the users of what is lost, and run hermod check --acknowledge',
  file_store: 'make the store of the files available to this node',
  backup_failed: 'remove the reason, and run hermod backup create',
  backup_late: 'run hermod backup create, and look for the reason in the log',
  backup_verification: 'run hermod backup verify, and keep an earlier backup',
  push_certificate_expiry: 'set new push certificates',
  webhook_disabled: 'enable the webhooks, or delete them',
}
