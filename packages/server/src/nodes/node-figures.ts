/** A figure that every node tells with its heartbeat. */
export interface NodeFigure<Value = unknown> {
  /** The present value, for the row of this node; kept small. */
  own(): Value
  /** Gets the values of the other live nodes, after each heartbeat of this one. */
  received?(others: readonly Value[]): void
}

/** The figures that the nodes of a database exchange with their heartbeats, by name. */
export class NodeFigures {
  readonly #figures = new Map<string, NodeFigure>()

  add<Value>(name: string, figure: NodeFigure<Value>): void {
    this.#figures.set(name, figure as NodeFigure)
  }

  own(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#figures].map(([name, figure]) => [name, figure.own()]))
  }

  /** @param others the figures of each other node; one of another build may lack some */
  received(others: readonly Readonly<Record<string, unknown>>[]): void {
    for (const [name, figure] of this.#figures)
      figure.received?.(others.flatMap((each) => (name in each ? [each[name]] : [])))
  }
}
