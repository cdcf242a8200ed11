import type { CoreContext } from './core-context.js'
import type { Part } from './part.js'

/** Creates the parts behind Link and Calls, in the order in which they hear of inputs. */
export function createParts(_context: CoreContext): readonly Part[] {
  return []
}
