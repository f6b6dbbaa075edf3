import type { Answer } from './support/question.ts';
export const publishStopCycles = async (): Promise<readonly Answer[]> => [];
