import { dirname, join } from "node:path";
import ts from "typescript";
import type { Sources } from "./sources.js";

/** "<path>#<name>"; "<path>#" is what loading the module does. */
export type NameId = `${string}#${string}`;

/** A top-level name of a module, or what loading it does. */
export interface TopLevelName {
  readonly path: string;
  readonly exported: boolean;
  /** What it mentions, in its own module and in others; what it loads, too. */
  readonly mentions: ReadonlySet<NameId>;
}

export type NameGraph = ReadonlyMap<NameId, TopLevelName>;

export function nameId(path: string, name = ""): NameId {
  return `${path}#${name}`;
}

/**
 * Which top-level names mention which, over all modules, types included. `import()` mentions all that a
 * module exports, unless what it gives is taken apart at once.
 */
export function nameGraph(sources: Sources): NameGraph {
  const program = programOf(sources);
  const modules = [...sources.keys()].flatMap((path) => program.getSourceFile(path) ?? []);
  const reader = new NameReader(program.getTypeChecker(), modules);
  return new Map(modules.flatMap((module) => reader.namesOf(module)));
}

/** Parsed and bound, without a library: names are resolved, and no type is looked at. */
function programOf(sources: Sources): ts.Program {
  const options: ts.CompilerOptions = { noLib: true, allowJs: true, types: [] };
  const host: ts.CompilerHost = {
    getSourceFile: (path, target) => {
      const text = sources.get(path);
      return text === undefined ? undefined : ts.createSourceFile(path, text, target, true);
    },
    resolveModuleNameLiterals: (literals, from) =>
      literals.map(({ text }) => ({ resolvedModule: moduleAt(sources, from, text) })),
    fileExists: (path) => sources.has(path),
    readFile: (path) => sources.get(path),
    writeFile: () => {},
    getDefaultLibFileName: () => "",
    getCurrentDirectory: () => "",
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
  };
  return ts.createProgram([...sources.keys()], options, host);
}

/** The source of what a relative specifier names, compiled or not. */
function moduleAt(
  sources: Sources,
  from: string,
  specifier: string,
): ts.ResolvedModuleFull | undefined {
  if (!specifier.startsWith(".")) return undefined;
  const written = join(dirname(from), specifier).replace(/^dist\//, "");
  const path = [written.replace(/\.js$/, ".ts"), written].find((one) => sources.has(one));
  if (path === undefined) return undefined;
  return { resolvedFileName: path, extension: path.slice(path.lastIndexOf(".")) };
}

type Declared = readonly [name: ts.Identifier, declaration: ts.Node];

/** The names that a top-level statement declares or passes on; none for one that only does something. */
function declaredIn(statement: ts.Statement): Declared[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(boundIn);
  }
  if (ts.isExportDeclaration(statement)) return passedOnIn(statement);
  const isDeclaration =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement);
  return isDeclaration && statement.name !== undefined ? [[statement.name, statement]] : [];
}

function passedOnIn({ exportClause }: ts.ExportDeclaration): Declared[] {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [];
  return exportClause.elements.flatMap((element) =>
    ts.isIdentifier(element.name) ? [[element.name, element]] : [],
  );
}

function boundIn(declaration: ts.VariableDeclaration | ts.BindingElement): Declared[] {
  const { name } = declaration;
  if (ts.isIdentifier(name)) return [[name, declaration]];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundIn(element) : []));
}

function isExported(statement: ts.Statement): boolean {
  if (ts.isExportDeclaration(statement)) return true;
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** Whether an identifier is there to be a name, and not for what it stands for. */
function isOnlyName(identifier: ts.Identifier): boolean {
  const { name, propertyName } = identifier.parent as { name?: ts.Node; propertyName?: ts.Node };
  return name === identifier || propertyName === identifier;
}

/** What `const { a, b } = await import(...)`, or `require(...) as typeof import(...)`, takes; undefined for any other use. */
function takenApart({ parent }: ts.CallExpression | ts.ImportTypeNode): string[] | undefined {
  const isTaken = ts.isAwaitExpression(parent) || ts.isAsExpression(parent);
  if (!isTaken || !ts.isVariableDeclaration(parent.parent)) return undefined;
  const { name } = parent.parent;
  if (!ts.isObjectBindingPattern(name)) return undefined;
  return name.elements.map((element) => (element.propertyName ?? element.name).getText());
}

class NameReader {
  private readonly ids: ReadonlyMap<ts.Node, NameId>;

  constructor(
    private readonly checker: ts.TypeChecker,
    modules: readonly ts.SourceFile[],
  ) {
    const declared = modules.flatMap(({ statements }) => statements.flatMap(declaredIn));
    this.ids = new Map(
      declared.map(([name, declaration]) => [
        declaration,
        nameId(name.getSourceFile().fileName, name.text),
      ]),
    );
  }

  namesOf({ fileName: path, statements }: ts.SourceFile): [NameId, TopLevelName][] {
    const loading = nameId(path);
    const loads = new Set<NameId>();
    const names = statements.flatMap((statement): [NameId, TopLevelName][] => {
      for (const loaded of this.loadedBy(statement)) loads.add(loaded);
      const declared = declaredIn(statement);
      const exported = isExported(statement);
      const mentions = this.mentionsIn(statement);
      if (declared.length === 0) for (const mentioned of mentions) loads.add(mentioned);
      mentions.add(loading);
      return declared.map(([{ text }]) => [nameId(path, text), { path, exported, mentions }]);
    });
    return [[loading, { path, exported: false, mentions: loads }], ...names];
  }

  private loadedBy(statement: ts.Statement): NameId[] {
    if (ts.isImportDeclaration(statement)) {
      const isOfTypes = statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      return isOfTypes ? [] : this.loadingOf(statement.moduleSpecifier);
    }
    const isPassedOn = ts.isExportDeclaration(statement) && !statement.isTypeOnly;
    return isPassedOn ? this.loadingOf(statement.moduleSpecifier) : [];
  }

  private loadingOf(specifier: ts.Expression | undefined): NameId[] {
    const module = this.moduleNamed(specifier);
    return module === undefined ? [] : [nameId(module.fileName)];
  }

  private mentionsIn(statement: ts.Statement): Set<NameId> {
    const found = new Set<NameId>();
    const visit = (node: ts.Node): void => {
      for (const id of this.mentionedBy(node)) found.add(id);
      ts.forEachChild(node, visit);
    };
    if (!ts.isImportDeclaration(statement)) visit(statement);
    return found;
  }

  private mentionedBy(node: ts.Node): NameId[] {
    const { checker } = this;
    if (ts.isExportSpecifier(node)) return this.behind(checker.getSymbolAtLocation(node.name));
    if (ts.isShorthandPropertyAssignment(node)) {
      return this.meant(checker.getShorthandAssignmentValueSymbol(node));
    }
    if (ts.isIdentifier(node)) {
      return isOnlyName(node) ? [] : this.meant(checker.getSymbolAtLocation(node));
    }
    if (ts.isImportTypeNode(node)) {
      const { argument, isTypeOf } = node;
      return isTypeOf && ts.isLiteralTypeNode(argument)
        ? this.importedBy(node, argument.literal)
        : [];
    }
    const isImport =
      ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
    return isImport ? this.importedBy(node, node.arguments[0]) : [];
  }

  private importedBy(
    importing: ts.CallExpression | ts.ImportTypeNode,
    specifier: ts.Node | undefined,
  ): NameId[] {
    const module = this.moduleNamed(specifier);
    if (module === undefined) return [];
    const symbol = this.checker.getSymbolAtLocation(module);
    const exported = symbol === undefined ? [] : this.checker.getExportsOfModule(symbol);
    const names = takenApart(importing) ?? exported.map(({ name }) => name);
    return ["", ...names].map((name) => nameId(module.fileName, name));
  }

  /** The first top-level name on the way from a symbol to what it is an alias of. */
  private meant(symbol: ts.Symbol | undefined): NameId[] {
    if (symbol === undefined) return [];
    const ids =
      symbol.declarations?.flatMap((declaration) => this.ids.get(declaration) ?? []) ?? [];
    return ids.length > 0 ? ids : this.behind(symbol);
  }

  private behind(symbol: ts.Symbol | undefined): NameId[] {
    if (symbol === undefined || (symbol.flags & ts.SymbolFlags.Alias) === 0) return [];
    return this.meant(this.checker.getImmediateAliasedSymbol(symbol));
  }

  private moduleNamed(specifier: ts.Node | undefined): ts.SourceFile | undefined {
    if (specifier === undefined) return undefined;
    const [module] = this.checker.getSymbolAtLocation(specifier)?.declarations ?? [];
    return module !== undefined && ts.isSourceFile(module) ? module : undefined;
  }
}
