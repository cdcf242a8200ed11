import { array, boolean, int64, type Static, text } from '../schema.js'
import { resource } from './fields.js'

export const CheckFault = resource(
  'CheckFault',
  'A derived fact that does not agree with its log.',
  {
    check: text('which check found it'),
    app_id: text('application concerned'),
    subject: text('what is wrong'),
    detail: text('what was found and what was expected'),
  },
)
export type CheckFault = Static<typeof CheckFault>

export const CheckReport = resource('CheckReport', 'What an integrity check found.', {
  checked: int64({ description: 'number of facts that were checked' }),
  faults: array(CheckFault, { description: 'what does not agree' }),
  truncated: boolean({ description: 'true: there are more faults than listed' }),
})
export type CheckReport = Static<typeof CheckReport>
