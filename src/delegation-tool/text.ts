/**
 * What a delegation tool says of a child that sees the current turn.
 *
 * @module
 */

/** A tool as a model is shown it; `parameters` is a JSON schema. */
export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

/** A sentence of `@deepseek-ai/dsh-tool-subagent` that is untrue at `step`, and a true one in its place. */
interface Correction {
  readonly known: string;
  readonly corrected: string;
}

const DESCRIPTION: Correction = {
  known: 'seeded with all completed turns so far (it does not see the current in-flight turn)',
  corrected: 'that sees all you see now, the current turn included (it does not see the message that calls this tool)',
};

const PROMPT: Correction = {
  known: 'It already sees this conversation\'s completed turns, so build on them freely and state only what is new.',
  corrected: 'It already sees this conversation, the current turn included, so build on it freely and state only what is new.',
};

/**
 * Whether a tool says what is untrue at `step`, in the words that are known.
 * @param tool - any tool.
 */
export function isKnown({ description, parameters }: ShownTool): boolean {
  return description.split(DESCRIPTION.known).length === 2 && promptOf(parameters)?.description?.endsWith(PROMPT.known) === true;
}

/**
 * A tool that says what its child sees at `step`.
 * @param tool - a tool whose text {@link isKnown}.
 * @returns the same tool with both sentences corrected; the given one is untouched.
 */
export function correctedTool<T extends ShownTool>(tool: T): T {
  const { properties } = tool.parameters as ParameterSchema;
  const prompt = { ...properties!.prompt, description: properties!.prompt!.description!.replace(PROMPT.known, PROMPT.corrected) };
  return {
    ...tool,
    description: tool.description.replace(DESCRIPTION.known, DESCRIPTION.corrected),
    parameters: { ...tool.parameters, properties: { ...properties, prompt } },
  };
}

/**
 * The declarations of all tools, as Code Mode shows them, with some of them corrected. They stand in
 * the order of their names, and each known sentence once for each tool that says it.
 * @param text - the declarations.
 * @param known - the names of all declared tools whose text {@link isKnown}.
 * @param isCorrected - whether a tool of this name is to be corrected.
 * @returns the corrected declarations; a sentence that does not stand as often as there are tools stays.
 */
export function correctedDeclarations(text: string, known: readonly string[], isCorrected: (name: string) => boolean): string {
  const names = known.toSorted((a, b) => a < b ? -1 : 1);
  return [DESCRIPTION, PROMPT].reduce((declarations, { known, corrected }) => {
    const pieces = declarations.split(known);
    if (pieces.length - 1 !== names.length) return declarations;
    return pieces.reduce((before, after, index) => before + (isCorrected(names[index - 1]!) ? corrected : known) + after);
  }, text);
}

/** The part of a JSON schema that is read. */
interface ParameterSchema {
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>;
}

function promptOf(parameters: object): { readonly description?: string } | undefined {
  return (parameters as ParameterSchema).properties?.prompt;
}
