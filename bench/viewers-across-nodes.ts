import type { Answer } from './support/question.ts';
export const viewersAcrossNodes = async (): Promise<readonly Answer[]> => [];
