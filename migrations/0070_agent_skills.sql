-- expand
CREATE INDEX "agents_skills" ON "agents" USING gin ("skills");
