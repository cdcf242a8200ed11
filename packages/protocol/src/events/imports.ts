import { text } from '../schema.js'
import { event, payload } from './event-definition.js'
import { ofApp } from './event-keys.js'

/** Events about imports from other systems. */
export const importEvents = {
  /**
   * The history of another system is complete. Devices read their lists anew, connected ones some at
   * a time.
   */
  'import.finished': event({
    payload: payload({ source: text('The name of the import.') }),
    key: ofApp,
    audience: 'none',
    userChanges: {},
    causedBy: ['operator.import.finish'],
  }),
}
